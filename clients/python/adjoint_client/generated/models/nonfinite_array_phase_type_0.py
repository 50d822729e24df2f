from typing import Literal

NonfiniteArrayPhaseType0 = Literal["backward", "forward"]

NONFINITE_ARRAY_PHASE_TYPE_0_VALUES: set[NonfiniteArrayPhaseType0] = {
    "backward",
    "forward",
}


def check_nonfinite_array_phase_type_0(value: str) -> NonfiniteArrayPhaseType0:
    if value in NONFINITE_ARRAY_PHASE_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {NONFINITE_ARRAY_PHASE_TYPE_0_VALUES!r}")
