"""What the use cases need of worker processes: fits, computations, and the resources that a request may ask for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import engine
from app.domain.documents import JSON
from app.domain.errors import Finding
from app.domain.runtime import AUTO, executor_of
from app.service.resources.engine_documents import invalid


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """A worker process and what it works on: a fit or a session."""

    pid: int
    fit_id: str | None
    attempt: int
    state: str
    rss_bytes: int
    session_id: str | None = None


class Workforce(Protocol):
    """The workers as a use case sees them. Every method is quick, and may be called from any thread."""

    def wake(self) -> None:
        """Look at the queue: there may be a fit to claim."""
        ...

    def cancel(self, fit_id: str, variant: str | None = None) -> None:
        """Tell the process that works on the fit to stop; nothing happens if there is none.

        Of a sweep it may be one `variant` only that is to stop, by its fit's id.
        """
        ...

    def pause(self, fit_id: str) -> None:
        """Tell the process that works on the fit to write a checkpoint and go; nothing happens if there is none."""
        ...

    def kill(self, fit_id: str) -> None:
        """Kill the process that works on the fit, if there is one, whose attempt has ended in the database already."""
        ...

    def check_requested_state(self, fit_id: str) -> None:
        """Look at what is asked of the fit that a process works on: its limits of time may be others."""
        ...

    def unavailable_reason(self) -> str | None:
        """Say why no fit can be started at present, None if one can."""
        ...

    def workers(self) -> Sequence[WorkerStatus]:
        """Return the processes that are running now."""
        ...


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A model that predicts: its name among those that a process keeps, and how to load it, asked for in a thread."""

    name: str
    load: Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ComputeRequest:
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
    model: ModelReference | None = None


@dataclass(frozen=True, slots=True)
class ComputeResult:
    """An answer: its type, and its bytes or a file of them that whoever takes it deletes."""

    media: str
    body: bytes | Path


class ComputeService(Protocol):
    """The processes that compute. Its coroutine belongs to the server's event loop."""

    async def execute(self, order: ComputeRequest) -> ComputeResult:
        """Have something computed; to cancel this stops it.

        TooLarge if it can never have the memory, ComputationsFull if not now, ComputeTimeout if it takes too long,
        ComputationLost if its process is lost, ComputationRefused for what is wrong with the request, Draining if the
        server is stopping.
        """
        ...


def check_resources(resources: Mapping[str, Any]) -> None:
    """Invalid if the machine has not what the fit is to run with."""
    executor, here = resources.get("executor") or AUTO, engine.usable_cpus()
    known = f"it may use {_format_ranges(here)}"
    faults = [
        Finding(f"/resources/affinity/{place}", "unknown_cpu", f"this server has no CPU {cpu}; {known}")
        for place, cpu in enumerate(resources.get("affinity") or ())
        if cpu not in here
    ]
    if executor not in (AUTO, *engine.executors()):
        detail = f"this server has no {executor} executor: pip install 'adjoint-server[fast]' there, or leave this out"
        faults.append(Finding("/resources/executor", "extra_missing", detail))
    if faults:
        raise invalid(faults)


def select_executor(resources: Mapping[str, Any], before: Mapping[str, Any] | None) -> str:
    """Return what will compute as things stand (see `executor_of`)."""
    executor, known = executor_of(resources, before), engine.executors()
    return executor if executor in known else known[-1]


def _format_ranges(numbers: Sequence[int]) -> str:
    """Format numbers in order, runs of them by their ends."""
    ends: list[list[int]] = []
    for number in numbers:
        if ends and number == ends[-1][1] + 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in ends)
