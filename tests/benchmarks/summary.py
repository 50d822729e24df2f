"""What a row of results says of this project: its time, its best peer, and how near it comes to the floor."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.benchmarks.roster import ROSTER

OURS = tuple(name for name, entry in ROSTER.items() if entry.ours)
SERVER = "Adjoint server"
"""It is timed by rows that arrive over HTTP, so it is not compared with what runs in one process."""
AHEAD = 1.1
"""The least ratio of a row where this project is ahead."""


def summarize(contenders: Sequence[Mapping[str, Any]], floor_ms: float) -> dict[str, Any]:
    """Return the summary of a row; a contender whose losses do not agree does not count.

    Returns:
        `ms` of our faster executor; `best_peer` and `best_peer_ms`; `ratio`, the peer's time by ours; `floor_share`,
        the floor by our time; `numpy_steps`, the ops that the native executor leaves to NumPy. None where nothing ran.
    """
    counted = [found for found in contenders if found.get("agrees")]
    ours = _fastest(found for found in counted if found["name"] in OURS and found["name"] != SERVER)
    peer = _fastest(found for found in counted if found["name"] not in OURS)
    steps = [found["numpy_steps"] for found in contenders if found.get("numpy_steps") is not None]
    return {
        "ms": ours and ours["ms"],
        "best_peer": peer and peer["name"],
        "best_peer_ms": peer and peer["ms"],
        "ratio": peer["ms"] / ours["ms"] if ours and peer else None,
        "floor_share": floor_ms / ours["ms"] if ours else None,
        "numpy_steps": steps[0] if steps else None,
    }


def of_all(rows: Iterable[Mapping[str, Any]]) -> tuple[float, int, list[str]] | None:
    """Return the geometric mean of the ratios, how many there are, and the workloads where we are not ahead."""
    ratios = {row["workload"]: row["summary"]["ratio"] for row in rows if row["summary"]["ratio"]}
    if not ratios:
        return None
    behind = [name for name, ratio in ratios.items() if ratio < AHEAD]
    return statistics.geometric_mean(ratios.values()), len(ratios), behind


def _fastest(contenders: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    return min(contenders, key=lambda found: found["ms"], default=None)
