from typing import Literal

FitRequestPrecisionType0 = Literal["float32", "float64", "mixed_bfloat16", "mixed_float16"]

FIT_REQUEST_PRECISION_TYPE_0_VALUES: set[FitRequestPrecisionType0] = {
    "float32",
    "float64",
    "mixed_bfloat16",
    "mixed_float16",
}


def check_fit_request_precision_type_0(value: str) -> FitRequestPrecisionType0:
    if value in FIT_REQUEST_PRECISION_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {FIT_REQUEST_PRECISION_TYPE_0_VALUES!r}")
