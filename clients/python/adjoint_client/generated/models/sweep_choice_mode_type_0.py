from typing import Literal

SweepChoiceModeType0 = Literal["max", "min"]

SWEEP_CHOICE_MODE_TYPE_0_VALUES: set[SweepChoiceModeType0] = {
    "max",
    "min",
}


def check_sweep_choice_mode_type_0(value: str) -> SweepChoiceModeType0:
    if value in SWEEP_CHOICE_MODE_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SWEEP_CHOICE_MODE_TYPE_0_VALUES!r}")
