from typing import Literal

EarlyStoppingChoiceModeType0 = Literal["max", "min"]

EARLY_STOPPING_CHOICE_MODE_TYPE_0_VALUES: set[EarlyStoppingChoiceModeType0] = {
    "max",
    "min",
}


def check_early_stopping_choice_mode_type_0(value: str) -> EarlyStoppingChoiceModeType0:
    if value in EARLY_STOPPING_CHOICE_MODE_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {EARLY_STOPPING_CHOICE_MODE_TYPE_0_VALUES!r}")
