"""Replicas of a fit that run on nodes of their own."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Placement = Literal["node", "pack", "spread"]
"""Where the replicas of a fit run on a cluster: together on one node, on as few nodes as possible, on as many."""

EXIT_PEER_LOST = os.EX_TEMPFAIL
"""Exit code of a replica on a node of its own that has lost another one, or the connection to it."""


@dataclass(frozen=True, slots=True)
class ReplicaShare:
    """Which of `size` replicas a process is, and how it finds the others: rank 0 listens at `host` and `port`.

    Who connects there sends the `secret`, hexadecimal here.
    """

    rank: int
    size: int
    host: str
    port: int
    secret: str

    def to_json(self) -> dict[str, Any]:
        """Write it as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "ReplicaShare":
        """Read what `to_json` wrote."""
        return cls(**document)


def placement_of(request: Mapping[str, Any]) -> Placement:
    """Return where the replicas of a requested fit run; a single one is on one node anyway."""
    resources = request.get("resources") or {}
    placement: Placement = resources.get("placement") or "node"
    return placement if (resources.get("replicas") or 1) > 1 else "node"
