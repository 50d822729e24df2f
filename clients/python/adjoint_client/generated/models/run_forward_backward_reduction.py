from typing import Literal

RunForwardBackwardReduction = Literal["mean", "sum"]

RUN_FORWARD_BACKWARD_REDUCTION_VALUES: set[RunForwardBackwardReduction] = {
    "mean",
    "sum",
}


def check_run_forward_backward_reduction(value: str) -> RunForwardBackwardReduction:
    if value in RUN_FORWARD_BACKWARD_REDUCTION_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {RUN_FORWARD_BACKWARD_REDUCTION_VALUES!r}")
