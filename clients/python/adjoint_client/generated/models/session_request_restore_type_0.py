from typing import Literal

SessionRequestRestoreType0 = Literal["all", "parameters"]

SESSION_REQUEST_RESTORE_TYPE_0_VALUES: set[SessionRequestRestoreType0] = {
    "all",
    "parameters",
}


def check_session_request_restore_type_0(value: str) -> SessionRequestRestoreType0:
    if value in SESSION_REQUEST_RESTORE_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SESSION_REQUEST_RESTORE_TYPE_0_VALUES!r}")
