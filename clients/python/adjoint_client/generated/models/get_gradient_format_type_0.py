from typing import Literal

GetGradientFormatType0 = Literal["json", "npy"]

GET_GRADIENT_FORMAT_TYPE_0_VALUES: set[GetGradientFormatType0] = {
    "json",
    "npy",
}


def check_get_gradient_format_type_0(value: str) -> GetGradientFormatType0:
    if value in GET_GRADIENT_FORMAT_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {GET_GRADIENT_FORMAT_TYPE_0_VALUES!r}")
