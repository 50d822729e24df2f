from typing import Literal

OpEntrySecondOrderType0 = Literal["composition", "rule"]

OP_ENTRY_SECOND_ORDER_TYPE_0_VALUES: set[OpEntrySecondOrderType0] = {
    "composition",
    "rule",
}


def check_op_entry_second_order_type_0(value: str) -> OpEntrySecondOrderType0:
    if value in OP_ENTRY_SECOND_ORDER_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {OP_ENTRY_SECOND_ORDER_TYPE_0_VALUES!r}")
