from typing import Literal

DrawGraphPlanExecutor = Literal["auto", "native", "numpy"]

DRAW_GRAPH_PLAN_EXECUTOR_VALUES: set[DrawGraphPlanExecutor] = {
    "auto",
    "native",
    "numpy",
}


def check_draw_graph_plan_executor(value: str) -> DrawGraphPlanExecutor:
    if value in DRAW_GRAPH_PLAN_EXECUTOR_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {DRAW_GRAPH_PLAN_EXECUTOR_VALUES!r}")
