from typing import Literal

SessionRequestKind = Literal["static", "training"]

SESSION_REQUEST_KIND_VALUES: set[SessionRequestKind] = {
    "static",
    "training",
}


def check_session_request_kind(value: str) -> SessionRequestKind:
    if value in SESSION_REQUEST_KIND_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SESSION_REQUEST_KIND_VALUES!r}")
