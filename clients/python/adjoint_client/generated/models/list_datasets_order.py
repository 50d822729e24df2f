from typing import Literal

ListDatasetsOrder = Literal["asc", "desc"]

LIST_DATASETS_ORDER_VALUES: set[ListDatasetsOrder] = {
    "asc",
    "desc",
}


def check_list_datasets_order(value: str) -> ListDatasetsOrder:
    if value in LIST_DATASETS_ORDER_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_DATASETS_ORDER_VALUES!r}")
