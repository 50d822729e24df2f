from typing import Literal

ThreadpoolChoicePrioType1 = Literal["high", "low", "medium", "normal", "realtime"]

THREADPOOL_CHOICE_PRIO_TYPE_1_VALUES: set[ThreadpoolChoicePrioType1] = {
    "high",
    "low",
    "medium",
    "normal",
    "realtime",
}


def check_threadpool_choice_prio_type_1(value: str) -> ThreadpoolChoicePrioType1:
    if value in THREADPOOL_CHOICE_PRIO_TYPE_1_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {THREADPOOL_CHOICE_PRIO_TYPE_1_VALUES!r}")
