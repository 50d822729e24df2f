from typing import Literal

FitOriginRestore = Literal["all", "parameters"]

FIT_ORIGIN_RESTORE_VALUES: set[FitOriginRestore] = {
    "all",
    "parameters",
}


def check_fit_origin_restore(value: str) -> FitOriginRestore:
    if value in FIT_ORIGIN_RESTORE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {FIT_ORIGIN_RESTORE_VALUES!r}")
