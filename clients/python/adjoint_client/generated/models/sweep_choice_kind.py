from typing import Literal

SweepChoiceKind = Literal["grid", "halving", "random"]

SWEEP_CHOICE_KIND_VALUES: set[SweepChoiceKind] = {
    "grid",
    "halving",
    "random",
}


def check_sweep_choice_kind(value: str) -> SweepChoiceKind:
    if value in SWEEP_CHOICE_KIND_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SWEEP_CHOICE_KIND_VALUES!r}")
