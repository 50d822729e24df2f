"""The worker processes as the use cases see them, and the resources that a request may ask for."""

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


class WorkerPool(Protocol):
    """The workers of fits. Every method is quick, and may be called from any thread."""

    def wake(self) -> None:
        """Check the queue: there may be a fit to claim."""
        ...

    def cancel(self, fit_id: str, variant: str | None = None) -> None:
        """Stop the process of the fit, if there is one; of a sweep, stop only `variant` (by its id) if given."""
        ...

    def pause(self, fit_id: str) -> None:
        """Let the process of the fit write a checkpoint and exit, if there is one."""
        ...

    def kill(self, fit_id: str) -> None:
        """Kill the process of the fit, whose attempt has ended in the database, if there is one."""
        ...

    def check_requested_state(self, fit_id: str) -> None:
        """Read the requested state and time limits of a fit that has a process."""
        ...

    def unavailable_reason(self) -> str | None:
        """Return why no fit can be started now, None if one can."""
        ...

    def workers(self) -> Sequence[WorkerStatus]:
        """Return the processes that are running now."""
        ...

    def worker_states(self) -> Sequence[tuple[int, str]]:
        """Return the pids of those processes and their states, without looking at the processes."""
        ...


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A model for predictions: its name in the caches of processes, and how to load it; called in a thread."""

    name: str
    load: Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ComputeRequest:
    """A request to a compute process.

    Attributes:
        verb: what to compute; "predict" needs a `model`, everything else a graph in the body.
        options: the options of the verb.
        body: the input, as the client sent it or as JSON.
        media: the media type of the body.
        accept: the media type of the response.
        model: the model of a prediction. A prediction is retried once if its process is lost.
    """

    verb: str
    options: dict[str, Any]
    body: bytes
    media: str = JSON
    accept: str = JSON
    model: ModelReference | None = None


@dataclass(frozen=True, slots=True)
class ComputeResult:
    """A response: its media type, and its bytes or a file that the receiver deletes."""

    media: str
    body: bytes | Path


class ComputeService(Protocol):
    """The compute processes. Its coroutine belongs to the server's event loop."""

    async def execute(self, order: ComputeRequest) -> ComputeResult:
        """Execute a request; cancellation stops it.

        TooLarge if it can never have the memory, ComputationsFull if not now, ComputeTimeout if it takes too
        long, ComputationLost if its process is lost, StepRefused if the request is wrong, Draining if the
        server is stopping.
        """
        ...


def check_resources(resources: Mapping[str, Any]) -> None:
    """Raise Invalid if this machine does not have the requested resources."""
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
    """Return the executor that would be used now (see `executor_of`)."""
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
