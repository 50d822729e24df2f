from typing import Literal

ValidationChoiceOrderType0 = Literal["last", "random"]

VALIDATION_CHOICE_ORDER_TYPE_0_VALUES: set[ValidationChoiceOrderType0] = {
    "last",
    "random",
}


def check_validation_choice_order_type_0(value: str) -> ValidationChoiceOrderType0:
    if value in VALIDATION_CHOICE_ORDER_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {VALIDATION_CHOICE_ORDER_TYPE_0_VALUES!r}")
