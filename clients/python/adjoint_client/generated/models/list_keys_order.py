from typing import Literal

ListKeysOrder = Literal["asc", "desc"]

LIST_KEYS_ORDER_VALUES: set[ListKeysOrder] = {
    "asc",
    "desc",
}


def check_list_keys_order(value: str) -> ListKeysOrder:
    if value in LIST_KEYS_ORDER_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_KEYS_ORDER_VALUES!r}")
