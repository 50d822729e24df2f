from typing import Literal

NormalizeChoiceKind = Literal["minmax", "robust", "standard"]

NORMALIZE_CHOICE_KIND_VALUES: set[NormalizeChoiceKind] = {
    "minmax",
    "robust",
    "standard",
}


def check_normalize_choice_kind(value: str) -> NormalizeChoiceKind:
    if value in NORMALIZE_CHOICE_KIND_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {NORMALIZE_CHOICE_KIND_VALUES!r}")
