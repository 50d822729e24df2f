from typing import Literal

ListMetricsSplitType0 = Literal["train", "validation"]

LIST_METRICS_SPLIT_TYPE_0_VALUES: set[ListMetricsSplitType0] = {
    "train",
    "validation",
}


def check_list_metrics_split_type_0(value: str) -> ListMetricsSplitType0:
    if value in LIST_METRICS_SPLIT_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_METRICS_SPLIT_TYPE_0_VALUES!r}")
