from typing import Literal

ListCheckpointsOrder = Literal["asc", "desc"]

LIST_CHECKPOINTS_ORDER_VALUES: set[ListCheckpointsOrder] = {
    "asc",
    "desc",
}


def check_list_checkpoints_order(value: str) -> ListCheckpointsOrder:
    if value in LIST_CHECKPOINTS_ORDER_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_CHECKPOINTS_ORDER_VALUES!r}")
