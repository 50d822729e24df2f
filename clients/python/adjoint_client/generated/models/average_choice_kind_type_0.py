from typing import Literal

AverageChoiceKindType0 = Literal["ema", "swa"]

AVERAGE_CHOICE_KIND_TYPE_0_VALUES: set[AverageChoiceKindType0] = {
    "ema",
    "swa",
}


def check_average_choice_kind_type_0(value: str) -> AverageChoiceKindType0:
    if value in AVERAGE_CHOICE_KIND_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {AVERAGE_CHOICE_KIND_TYPE_0_VALUES!r}")
