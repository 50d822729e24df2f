from typing import Literal

ListGraphsOrder = Literal["asc", "desc"]

LIST_GRAPHS_ORDER_VALUES: set[ListGraphsOrder] = {
    "asc",
    "desc",
}


def check_list_graphs_order(value: str) -> ListGraphsOrder:
    if value in LIST_GRAPHS_ORDER_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_GRAPHS_ORDER_VALUES!r}")
