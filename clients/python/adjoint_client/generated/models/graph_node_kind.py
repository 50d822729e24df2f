from typing import Literal

GraphNodeKind = Literal["leaf", "node"]

GRAPH_NODE_KIND_VALUES: set[GraphNodeKind] = {
    "leaf",
    "node",
}


def check_graph_node_kind(value: str) -> GraphNodeKind:
    if value in GRAPH_NODE_KIND_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {GRAPH_NODE_KIND_VALUES!r}")
