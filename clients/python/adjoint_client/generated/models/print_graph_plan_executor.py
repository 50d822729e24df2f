from typing import Literal

PrintGraphPlanExecutor = Literal["auto", "native", "numpy"]

PRINT_GRAPH_PLAN_EXECUTOR_VALUES: set[PrintGraphPlanExecutor] = {
    "auto",
    "native",
    "numpy",
}


def check_print_graph_plan_executor(value: str) -> PrintGraphPlanExecutor:
    if value in PRINT_GRAPH_PLAN_EXECUTOR_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {PRINT_GRAPH_PLAN_EXECUTOR_VALUES!r}")
