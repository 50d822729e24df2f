from typing import Literal

ListGradientsOrder = Literal["asc", "desc"]

LIST_GRADIENTS_ORDER_VALUES: set[ListGradientsOrder] = {
    "asc",
    "desc",
}


def check_list_gradients_order(value: str) -> ListGradientsOrder:
    if value in LIST_GRADIENTS_ORDER_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_GRADIENTS_ORDER_VALUES!r}")
