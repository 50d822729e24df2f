from typing import Literal

SessionState = Literal["active", "closed", "expired", "failed", "paused"]

SESSION_STATE_VALUES: set[SessionState] = {
    "active",
    "closed",
    "expired",
    "failed",
    "paused",
}


def check_session_state(value: str) -> SessionState:
    if value in SESSION_STATE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SESSION_STATE_VALUES!r}")
