from typing import Literal

NewGraphRequestOrder = Literal["left_to_right", "right_to_left"]

NEW_GRAPH_REQUEST_ORDER_VALUES: set[NewGraphRequestOrder] = {
    "left_to_right",
    "right_to_left",
}


def check_new_graph_request_order(value: str) -> NewGraphRequestOrder:
    if value in NEW_GRAPH_REQUEST_ORDER_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {NEW_GRAPH_REQUEST_ORDER_VALUES!r}")
