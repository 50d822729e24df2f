from typing import Literal

GetFitUntil = Literal["change", "terminal"]

GET_FIT_UNTIL_VALUES: set[GetFitUntil] = {
    "change",
    "terminal",
}


def check_get_fit_until(value: str) -> GetFitUntil:
    if value in GET_FIT_UNTIL_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {GET_FIT_UNTIL_VALUES!r}")
