from typing import Literal

DerivativeKind = Literal["derivative", "gradient_of", "hessian", "hvp", "jacobian", "jvp", "vhp"]

DERIVATIVE_KIND_VALUES: set[DerivativeKind] = {
    "derivative",
    "gradient_of",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "vhp",
}


def check_derivative_kind(value: str) -> DerivativeKind:
    if value in DERIVATIVE_KIND_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {DERIVATIVE_KIND_VALUES!r}")
