"""The messages between the server and its bridge process: one JSON object a line.

Messages of attempts are passed on as text, as `app.domain.messages` encodes them.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from app.domain.errors import BadMessage
from app.runner.port import ExitReason

NAME_SEPARATOR = "/"
"""In the names of the actors of sessions, between the session and the token; in no token."""


@dataclass(frozen=True, slots=True)
class Connect:
    """To the bridge, first: which cluster, and what nodes need.

    `namespace` keeps the actors of one database apart; `blob_url` is None where all nodes see the server's files. A
    replica that does not send a heartbeat for `lease_seconds` is lost.
    """

    address: str
    node_address: str | None
    namespace: str
    folder: str | None
    blob_url: str | None
    cache_bytes: int
    lease_seconds: float


@dataclass(frozen=True, slots=True)
class Start:
    """To the bridge: run the attempt. `assignment` is its message; it takes `cpus` and `memory_bytes` of a node."""

    token: str
    assignment: str
    staging: str
    cpus: int
    memory_bytes: int | None

    @property
    def needs(self) -> str:
        """What it takes, in words."""
        return f"a Ray node with {self.amount} free"

    @property
    def amount(self) -> str:
        """What it takes of a node, in words."""
        return f"{self.cpus} CPUs" + (f" and {self.memory_bytes} bytes" if self.memory_bytes else "")


@dataclass(frozen=True, slots=True)
class StartReplicas(Start):
    """To the bridge: run each of the `replicas` in its own actor, all in one placement group.

    `cpus` and `memory_bytes` are those of one replica; `strategy` is Ray's.
    """

    replicas: int
    strategy: Literal["PACK", "SPREAD"]

    @property
    def needs(self) -> str:
        return f"Ray nodes with {self.amount} free for each of {self.replicas} replicas"


@dataclass(frozen=True, slots=True)
class StartSession(Start):
    """To the bridge: run the attempt at a session, whose files are in `staging`.

    The socket for its frames is the next one that comes over the socket for sockets, with the token.
    """

    session_id: str
    attempt: int

    @property
    def actor_name(self) -> str:
        """The name of its actor. Unlike those of fits, it names what the attempt is at."""
        return f"{self.session_id}{NAME_SEPARATOR}{self.token}"


@dataclass(frozen=True, slots=True)
class Adopted:
    """An attempt of before: the number of its last report that is stored, and the server's folder for its files."""

    token: str
    received: int
    staging: str


@dataclass(frozen=True, slots=True)
class Adopt:
    """To the bridge: go on with these attempts, and end those with the tokens in `ended`, where a bridge of before may
    have left an actor; if the attempts are all that there should be, kill all others.
    """

    attempts: list[dict[str, Any]]
    all: bool
    ended: list[str]


@dataclass(frozen=True, slots=True)
class Send:
    """To the bridge: pass a message on; with a `grace` the process is killed after this number of seconds."""

    token: str
    message: str
    grace: float | None = None


@dataclass(frozen=True, slots=True)
class Kill:
    """To the bridge: kill the attempt. Its exit is always reported."""

    token: str


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """To the bridge: the reports up to this number are stored; None: everything is, and the actor can end."""

    token: str
    number: int | None


@dataclass(frozen=True, slots=True)
class Release:
    """To the bridge: follow the attempt no longer; its actor goes on."""

    token: str


@dataclass(frozen=True, slots=True)
class Connected:
    """From the bridge: the cluster can be used."""


@dataclass(frozen=True, slots=True)
class Refused:
    """From the bridge, last: why the cluster cannot be used, and what to change."""

    detail: str


@dataclass(frozen=True, slots=True)
class Found:
    """From the bridge: the attempts of `Adopt` that may still run, and those of other actors that it is ending."""

    tokens: list[str]
    ending: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reported:
    """From the bridge: a message of an attempt, and its number; 0 if it cannot be received again."""

    token: str
    number: int
    message: str


@dataclass(frozen=True, slots=True)
class Ended:
    """From the bridge: the attempt's process has exited, as in `port.Exited`.

    `lost_node` is the id of a node of its replicas that was lost.
    """

    token: str
    reason: ExitReason
    detail: str
    asked: bool = False
    with_server: bool = False
    lost_node: str | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """From the bridge: the actor of an attempt that was to end does not go on."""

    token: str


Order = Start | StartReplicas | StartSession | Adopt | Send | Kill | Acknowledge | Release
Event = Connected | Refused | Found | Reported | Ended | Gone

_KINDS: Mapping[str, type[Any]] = MappingProxyType(
    {kind.__name__.lower(): kind for kind in (Connect, *get_args(Order), *get_args(Event))}
)

StopKind = Literal["cancel", "drain"]


def to_text(item: Connect | Order | Event) -> bytes:
    """Encode an order or an event as one line."""
    return json.dumps({"kind": type(item).__name__.lower(), **asdict(item)}, separators=(",", ":")).encode() + b"\n"


def from_text(line: bytes) -> Any:
    """Read what `to_text` wrote; BadMessage if it is not that."""
    try:
        document = json.loads(line)
        return _KINDS[document.pop("kind")](**document)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadMessage(f"a line of {len(line)} bytes is neither an order nor an event") from error
