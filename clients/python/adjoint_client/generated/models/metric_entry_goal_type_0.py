from typing import Literal

MetricEntryGoalType0 = Literal["max", "min"]

METRIC_ENTRY_GOAL_TYPE_0_VALUES: set[MetricEntryGoalType0] = {
    "max",
    "min",
}


def check_metric_entry_goal_type_0(value: str) -> MetricEntryGoalType0:
    if value in METRIC_ENTRY_GOAL_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {METRIC_ENTRY_GOAL_TYPE_0_VALUES!r}")
