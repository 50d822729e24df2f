from typing import Literal

SessionRequestPrecisionType0 = Literal["float32", "float64", "mixed_bfloat16", "mixed_float16"]

SESSION_REQUEST_PRECISION_TYPE_0_VALUES: set[SessionRequestPrecisionType0] = {
    "float32",
    "float64",
    "mixed_bfloat16",
    "mixed_float16",
}


def check_session_request_precision_type_0(value: str) -> SessionRequestPrecisionType0:
    if value in SESSION_REQUEST_PRECISION_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SESSION_REQUEST_PRECISION_TYPE_0_VALUES!r}")
