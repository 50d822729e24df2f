from typing import Literal

DrawSessionGraphOf = Literal["backward", "forward"]

DRAW_SESSION_GRAPH_OF_VALUES: set[DrawSessionGraphOf] = {
    "backward",
    "forward",
}


def check_draw_session_graph_of(value: str) -> DrawSessionGraphOf:
    if value in DRAW_SESSION_GRAPH_OF_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {DRAW_SESSION_GRAPH_OF_VALUES!r}")
