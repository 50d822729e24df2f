from typing import Literal

DivergenceChoiceActionType0 = Literal["continue", "roll_back", "skip", "stop"]

DIVERGENCE_CHOICE_ACTION_TYPE_0_VALUES: set[DivergenceChoiceActionType0] = {
    "continue",
    "roll_back",
    "skip",
    "stop",
}


def check_divergence_choice_action_type_0(value: str) -> DivergenceChoiceActionType0:
    if value in DIVERGENCE_CHOICE_ACTION_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {DIVERGENCE_CHOICE_ACTION_TYPE_0_VALUES!r}")
