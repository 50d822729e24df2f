from typing import Literal

ResourcesChoicePriority = Literal["high", "low", "normal"]

RESOURCES_CHOICE_PRIORITY_VALUES: set[ResourcesChoicePriority] = {
    "high",
    "low",
    "normal",
}


def check_resources_choice_priority(value: str) -> ResourcesChoicePriority:
    if value in RESOURCES_CHOICE_PRIORITY_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {RESOURCES_CHOICE_PRIORITY_VALUES!r}")
