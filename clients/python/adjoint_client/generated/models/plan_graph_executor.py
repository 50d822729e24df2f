from typing import Literal

PlanGraphExecutor = Literal["auto", "native", "numpy"]

PLAN_GRAPH_EXECUTOR_VALUES: set[PlanGraphExecutor] = {
    "auto",
    "native",
    "numpy",
}


def check_plan_graph_executor(value: str) -> PlanGraphExecutor:
    if value in PLAN_GRAPH_EXECUTOR_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {PLAN_GRAPH_EXECUTOR_VALUES!r}")
