from typing import Literal

SessionRequestOrderType0 = Literal["left_to_right", "right_to_left"]

SESSION_REQUEST_ORDER_TYPE_0_VALUES: set[SessionRequestOrderType0] = {
    "left_to_right",
    "right_to_left",
}


def check_session_request_order_type_0(value: str) -> SessionRequestOrderType0:
    if value in SESSION_REQUEST_ORDER_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SESSION_REQUEST_ORDER_TYPE_0_VALUES!r}")
