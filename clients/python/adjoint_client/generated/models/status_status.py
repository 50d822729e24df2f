from typing import Literal

StatusStatus = Literal["ok", "ready"]

STATUS_STATUS_VALUES: set[StatusStatus] = {
    "ok",
    "ready",
}


def check_status_status(value: str) -> StatusStatus:
    if value in STATUS_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {STATUS_STATUS_VALUES!r}")
