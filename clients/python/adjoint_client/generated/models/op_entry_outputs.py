from typing import Literal

OpEntryOutputs = Literal["one", "several"]

OP_ENTRY_OUTPUTS_VALUES: set[OpEntryOutputs] = {
    "one",
    "several",
}


def check_op_entry_outputs(value: str) -> OpEntryOutputs:
    if value in OP_ENTRY_OUTPUTS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {OP_ENTRY_OUTPUTS_VALUES!r}")
