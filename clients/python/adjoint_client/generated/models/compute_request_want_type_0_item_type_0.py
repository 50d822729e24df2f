from typing import Literal

ComputeRequestWantType0ItemType0 = Literal["gradients", "outputs"]

COMPUTE_REQUEST_WANT_TYPE_0_ITEM_TYPE_0_VALUES: set[ComputeRequestWantType0ItemType0] = {
    "gradients",
    "outputs",
}


def check_compute_request_want_type_0_item_type_0(value: str) -> ComputeRequestWantType0ItemType0:
    if value in COMPUTE_REQUEST_WANT_TYPE_0_ITEM_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {COMPUTE_REQUEST_WANT_TYPE_0_ITEM_TYPE_0_VALUES!r}")
