from typing import Literal

GraphFindingSeverity = Literal["info", "warning"]

GRAPH_FINDING_SEVERITY_VALUES: set[GraphFindingSeverity] = {
    "info",
    "warning",
}


def check_graph_finding_severity(value: str) -> GraphFindingSeverity:
    if value in GRAPH_FINDING_SEVERITY_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {GRAPH_FINDING_SEVERITY_VALUES!r}")
