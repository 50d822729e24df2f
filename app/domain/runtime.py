"""What the processes of a fit run with, and how a replay compares with its original."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

NICENESS: Mapping[str, int] = MappingProxyType({"low": 19, "normal": 10, "high": 5})
"""How far each priority stands back behind others where cores are scarce; all do behind the server itself."""

AUTO, NUMPY, NATIVE = "auto", "numpy", "native"
"""The executors that can be asked for; `AUTO` is the fastest there is."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What a process of a fit is to run with, and in the end does.

    Attributes:
        executor: "numpy" or "native"; "auto" as long as the process has not chosen.
        threads: threads that work inside a step.
        threads_requested: how many were asked for, None if none were.
        affinity: the CPUs that the process is bound to, None for those of the server.
        niceness: how far it stands back behind the server, in steps of nice(2).
        fingerprint: what the bits of its numbers depend on; empty until it has reported it.
    """

    executor: str
    threads: int
    threads_requested: int | None
    affinity: Sequence[int] | None
    niceness: int
    fingerprint: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Write it as plain data."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Runtime":
        """Read what `to_json` wrote."""
        return cls(**document)


def executor_of(resources: Mapping[str, Any], before: Mapping[str, Any] | None) -> str:
    """Return the executor that a fit is to run with: that which it ran with `before`, else what it asks for."""
    executor: str = before["executor"] if before is not None else resources.get("executor") or AUTO
    return executor


def allot(resources: Mapping[str, Any], before: Mapping[str, Any] | None, *, cores: int, workers: int) -> Runtime:
    """Decide what the processes of a fit run with.

    Unless it says how many threads it uses, a fit gets its share of the cores: those of a worker, divided among its
    replicas, so that the threads of all workers together are no more than the cores. More than there are it never gets.

    Args:
        resources: that part of the request.
        before: what it ran with before, if it did. It keeps its executor, since its numbers depend on that; with
            NumPy's, whose matrix products come out differently with other threads, their number too.
        cores: threads that can run at once here.
        workers: fits that can be worked on at once here.
    """
    requested, affinity = resources.get("threads"), resources.get("affinity")
    replicas = resources.get("replicas") or 1
    bound = None if affinity is None else sorted(set(affinity))
    usable = cores if bound is None else min(cores, len(bound))
    wanted = requested or min(cores // (workers * replicas), usable)
    threads = max(1, min(wanted, usable // replicas))
    executor = executor_of(resources, before)
    if before is not None and executor == NUMPY:
        threads = before["threads"]
    niceness = NICENESS[resources.get("priority") or "normal"]
    return Runtime(executor, threads, requested, bound, niceness, {})


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


COMPARED = ("steps", "metrics", "parameters", "buffers", "optimizer")
"""What is compared: of a result, the entries of these names."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What is run again, and what is to come out; the `replay` of a record.

    Attributes:
        of: the fit that is run again, which may be of another server.
        expected: what it came to, by the names of `COMPARED`, and the `fingerprint` of its numerics.
        numerics: the entries of that fingerprint that are others here; equal bits can be expected only without any.
        verdict: how the two compare (see `Comparison`), None unless this fit has succeeded.
    """

    of: str
    expected: dict[str, Any]
    numerics: list[str]
    verdict: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict on a replay.

    Attributes:
        bit_exact: whether all that is compared is equal.
        differences: what of `COMPARED` is not.
        first_row: the first metric row that is not, if the fit that was run again is here.
    """

    bit_exact: bool
    differences: list[str] = field(default_factory=list)
    first_row: int | None = None


def changed_numerics(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return the entries of two fingerprints of numerics that are not the same."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
