from typing import Literal

GetParameterFormatType0 = Literal["json", "npy"]

GET_PARAMETER_FORMAT_TYPE_0_VALUES: set[GetParameterFormatType0] = {
    "json",
    "npy",
}


def check_get_parameter_format_type_0(value: str) -> GetParameterFormatType0:
    if value in GET_PARAMETER_FORMAT_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {GET_PARAMETER_FORMAT_TYPE_0_VALUES!r}")
