from typing import Literal

ForkChoiceRestoreType0 = Literal["all", "parameters"]

FORK_CHOICE_RESTORE_TYPE_0_VALUES: set[ForkChoiceRestoreType0] = {
    "all",
    "parameters",
}


def check_fork_choice_restore_type_0(value: str) -> ForkChoiceRestoreType0:
    if value in FORK_CHOICE_RESTORE_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {FORK_CHOICE_RESTORE_TYPE_0_VALUES!r}")
