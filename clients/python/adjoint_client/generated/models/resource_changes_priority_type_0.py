from typing import Literal

ResourceChangesPriorityType0 = Literal["high", "low", "normal"]

RESOURCE_CHANGES_PRIORITY_TYPE_0_VALUES: set[ResourceChangesPriorityType0] = {
    "high",
    "low",
    "normal",
}


def check_resource_changes_priority_type_0(value: str) -> ResourceChangesPriorityType0:
    if value in RESOURCE_CHANGES_PRIORITY_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {RESOURCE_CHANGES_PRIORITY_TYPE_0_VALUES!r}")
