from typing import Literal

ForwardBackwardRequestReductionType0 = Literal["mean", "sum"]

FORWARD_BACKWARD_REQUEST_REDUCTION_TYPE_0_VALUES: set[ForwardBackwardRequestReductionType0] = {
    "mean",
    "sum",
}


def check_forward_backward_request_reduction_type_0(value: str) -> ForwardBackwardRequestReductionType0:
    if value in FORWARD_BACKWARD_REQUEST_REDUCTION_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {FORWARD_BACKWARD_REQUEST_REDUCTION_TYPE_0_VALUES!r}")
