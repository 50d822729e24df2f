from typing import Literal

ResourcesChoiceExecutorType0 = Literal["auto", "native", "numpy"]

RESOURCES_CHOICE_EXECUTOR_TYPE_0_VALUES: set[ResourcesChoiceExecutorType0] = {
    "auto",
    "native",
    "numpy",
}


def check_resources_choice_executor_type_0(value: str) -> ResourcesChoiceExecutorType0:
    if value in RESOURCES_CHOICE_EXECUTOR_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {RESOURCES_CHOICE_EXECUTOR_TYPE_0_VALUES!r}")
