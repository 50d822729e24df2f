from typing import Literal

GraphComputeAnswerStatus = Literal["ABORTED", "SUCCESS"]

GRAPH_COMPUTE_ANSWER_STATUS_VALUES: set[GraphComputeAnswerStatus] = {
    "ABORTED",
    "SUCCESS",
}


def check_graph_compute_answer_status(value: str) -> GraphComputeAnswerStatus:
    if value in GRAPH_COMPUTE_ANSWER_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {GRAPH_COMPUTE_ANSWER_STATUS_VALUES!r}")
