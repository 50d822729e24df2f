from typing import Literal

ListFitsOrder = Literal["asc", "desc"]

LIST_FITS_ORDER_VALUES: set[ListFitsOrder] = {
    "asc",
    "desc",
}


def check_list_fits_order(value: str) -> ListFitsOrder:
    if value in LIST_FITS_ORDER_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_FITS_ORDER_VALUES!r}")
