from typing import Literal

FindCheckpointAlias = Literal["best", "latest"]

FIND_CHECKPOINT_ALIAS_VALUES: set[FindCheckpointAlias] = {
    "best",
    "latest",
}


def check_find_checkpoint_alias(value: str) -> FindCheckpointAlias:
    if value in FIND_CHECKPOINT_ALIAS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {FIND_CHECKPOINT_ALIAS_VALUES!r}")
