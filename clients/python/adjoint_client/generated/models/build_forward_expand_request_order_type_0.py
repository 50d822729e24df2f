from typing import Literal

BuildForwardExpandRequestOrderType0 = Literal["left_to_right", "right_to_left"]

BUILD_FORWARD_EXPAND_REQUEST_ORDER_TYPE_0_VALUES: set[BuildForwardExpandRequestOrderType0] = {
    "left_to_right",
    "right_to_left",
}


def check_build_forward_expand_request_order_type_0(value: str) -> BuildForwardExpandRequestOrderType0:
    if value in BUILD_FORWARD_EXPAND_REQUEST_ORDER_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {BUILD_FORWARD_EXPAND_REQUEST_ORDER_TYPE_0_VALUES!r}")
