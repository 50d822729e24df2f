from typing import Literal

SessionKind = Literal["static", "training"]

SESSION_KIND_VALUES: set[SessionKind] = {
    "static",
    "training",
}


def check_session_kind(value: str) -> SessionKind:
    if value in SESSION_KIND_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SESSION_KIND_VALUES!r}")
