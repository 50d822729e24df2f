from typing import Literal

AdaptiveClipChoiceUnitsType0 = Literal["first", "last"]

ADAPTIVE_CLIP_CHOICE_UNITS_TYPE_0_VALUES: set[AdaptiveClipChoiceUnitsType0] = {
    "first",
    "last",
}


def check_adaptive_clip_choice_units_type_0(value: str) -> AdaptiveClipChoiceUnitsType0:
    if value in ADAPTIVE_CLIP_CHOICE_UNITS_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {ADAPTIVE_CLIP_CHOICE_UNITS_TYPE_0_VALUES!r}")
