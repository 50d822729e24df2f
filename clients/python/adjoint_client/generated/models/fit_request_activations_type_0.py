from typing import Literal

FitRequestActivationsType0 = Literal["bfloat16", "float16"]

FIT_REQUEST_ACTIVATIONS_TYPE_0_VALUES: set[FitRequestActivationsType0] = {
    "bfloat16",
    "float16",
}


def check_fit_request_activations_type_0(value: str) -> FitRequestActivationsType0:
    if value in FIT_REQUEST_ACTIVATIONS_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {FIT_REQUEST_ACTIVATIONS_TYPE_0_VALUES!r}")
