from typing import Literal

SessionResourcesChoiceExecutorType0 = Literal["auto", "native", "numpy"]

SESSION_RESOURCES_CHOICE_EXECUTOR_TYPE_0_VALUES: set[SessionResourcesChoiceExecutorType0] = {
    "auto",
    "native",
    "numpy",
}


def check_session_resources_choice_executor_type_0(value: str) -> SessionResourcesChoiceExecutorType0:
    if value in SESSION_RESOURCES_CHOICE_EXECUTOR_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SESSION_RESOURCES_CHOICE_EXECUTOR_TYPE_0_VALUES!r}")
