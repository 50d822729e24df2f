"""What the use cases need of the processes that compute, whoever runs them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from app.domain.media import JSON


@dataclass(frozen=True, slots=True)
class Model:
    """A model that predicts: its name among those that a process keeps, and how to load it, asked for in a thread."""

    name: str
    load: Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be computed.

    Attributes:
        verb: what to do; "predict" with a `model`, everything else with a graph in the body.
        options: what goes with it.
        body: the numbers, as the client sent them or as JSON.
        media: the type of the body.
        accept: the type of the answer.
        model: what predicts. A prediction whose process is lost is made once more.
    """

    verb: str
    options: dict[str, Any]
    body: bytes
    media: str = JSON
    accept: str = JSON
    model: Model | None = None


@dataclass(frozen=True, slots=True)
class Computed:
    """An answer: its type, and its bytes or a file of them that whoever takes it deletes."""

    media: str
    body: bytes | Path


class Computing(Protocol):
    """The processes that compute. Its coroutine belongs to the server's event loop."""

    async def carry_out(self, order: Order) -> Computed:
        """Have something computed; to cancel this stops it.

        TooLarge if it can never have the memory, ComputationsFull if not now, ComputeTimeout if it takes too long,
        ComputationLost if its process is lost, ComputationRefused for what is wrong with the request, Draining if the
        server is stopping.
        """
        ...
