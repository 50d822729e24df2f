from typing import Literal

JacobianSpecModeType0 = Literal["forward", "reverse"]

JACOBIAN_SPEC_MODE_TYPE_0_VALUES: set[JacobianSpecModeType0] = {
    "forward",
    "reverse",
}


def check_jacobian_spec_mode_type_0(value: str) -> JacobianSpecModeType0:
    if value in JACOBIAN_SPEC_MODE_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {JACOBIAN_SPEC_MODE_TYPE_0_VALUES!r}")
