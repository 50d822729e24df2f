from typing import Literal

ShuffleChoiceKindType0 = Literal["none", "rows", "shards", "window"]

SHUFFLE_CHOICE_KIND_TYPE_0_VALUES: set[ShuffleChoiceKindType0] = {
    "none",
    "rows",
    "shards",
    "window",
}


def check_shuffle_choice_kind_type_0(value: str) -> ShuffleChoiceKindType0:
    if value in SHUFFLE_CHOICE_KIND_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SHUFFLE_CHOICE_KIND_TYPE_0_VALUES!r}")
