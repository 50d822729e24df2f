from typing import Literal

NonfiniteArrayKind = Literal["buffer", "input", "node", "parameter"]

NONFINITE_ARRAY_KIND_VALUES: set[NonfiniteArrayKind] = {
    "buffer",
    "input",
    "node",
    "parameter",
}


def check_nonfinite_array_kind(value: str) -> NonfiniteArrayKind:
    if value in NONFINITE_ARRAY_KIND_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {NONFINITE_ARRAY_KIND_VALUES!r}")
