from typing import Literal

FitState = Literal[
    "cancelled",
    "cancelling",
    "failed",
    "interrupted",
    "paused",
    "pausing",
    "queued",
    "running",
    "starting",
    "succeeded",
]

FIT_STATE_VALUES: set[FitState] = {
    "cancelled",
    "cancelling",
    "failed",
    "interrupted",
    "paused",
    "pausing",
    "queued",
    "running",
    "starting",
    "succeeded",
}


def check_fit_state(value: str) -> FitState:
    if value in FIT_STATE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {FIT_STATE_VALUES!r}")
