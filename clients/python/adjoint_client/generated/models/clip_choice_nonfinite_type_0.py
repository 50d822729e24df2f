from typing import Literal

ClipChoiceNonfiniteType0 = Literal["apply", "error", "skip"]

CLIP_CHOICE_NONFINITE_TYPE_0_VALUES: set[ClipChoiceNonfiniteType0] = {
    "apply",
    "error",
    "skip",
}


def check_clip_choice_nonfinite_type_0(value: str) -> ClipChoiceNonfiniteType0:
    if value in CLIP_CHOICE_NONFINITE_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {CLIP_CHOICE_NONFINITE_TYPE_0_VALUES!r}")
