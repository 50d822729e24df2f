from typing import Literal

ReplayResourcesPriorityType0 = Literal["high", "low", "normal"]

REPLAY_RESOURCES_PRIORITY_TYPE_0_VALUES: set[ReplayResourcesPriorityType0] = {
    "high",
    "low",
    "normal",
}


def check_replay_resources_priority_type_0(value: str) -> ReplayResourcesPriorityType0:
    if value in REPLAY_RESOURCES_PRIORITY_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {REPLAY_RESOURCES_PRIORITY_TYPE_0_VALUES!r}")
