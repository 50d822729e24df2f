from typing import Literal

ProfiledNodePhase = Literal["backward", "forward", "update"]

PROFILED_NODE_PHASE_VALUES: set[ProfiledNodePhase] = {
    "backward",
    "forward",
    "update",
}


def check_profiled_node_phase(value: str) -> ProfiledNodePhase:
    if value in PROFILED_NODE_PHASE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {PROFILED_NODE_PHASE_VALUES!r}")
