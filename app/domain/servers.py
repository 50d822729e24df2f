"""The servers of a database that several use, and which of them runs fits."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

PREFIX = "srv"

GONE_SECONDS = 4.0
"""How long after its last heartbeat a server counts as gone, by the clock of the database."""


def application_name(server_id: str) -> str:
    """Return the name of the connections of a server to the database."""
    return f"adjoint {server_id}"


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """A server at work: where the others reach it, and the settings in which all servers have to agree (`terms`)."""

    id: str
    url: str
    version: str
    terms: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A server as another one reads it from the database; `heartbeat_seconds` is the age of its last heartbeat."""

    id: str
    url: str
    version: str
    heartbeat_seconds: float
    leads: bool

    @property
    def is_alive(self) -> bool:
        """Whether it has sent a heartbeat lately."""
        return self.heartbeat_seconds < GONE_SECONDS


@dataclass(frozen=True, slots=True)
class SessionPlace:
    """Which server runs a session, as one of the servers sees it.

    Attributes:
        peer: the other server that does; None if the one that asks may handle requests for it.
        is_settled: whether a server runs it, as long as it is alive; otherwise the first that handles a step does from
            then on.
    """

    peer: ServerStatus | None
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Term:
    """The time in which a server runs fits: none other writes for their processes in its `epoch`."""

    epoch: int
    server: str
    since: datetime
