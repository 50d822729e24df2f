"""What a thread pool is made to be: how many threads, where they may run, how eagerly they wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

from engine.core.errors import AttributeValueError, nearest

MOST_THREADS = 512
MASK_BITS = 512
MOST_POLL = 100


class Priority(IntEnum):
    """How the system schedules the threads (GGML_SCHED_PRIO_*)."""

    LOW = -1
    NORMAL = 0
    MEDIUM = 1
    HIGH = 2
    REALTIME = 3


@dataclass(frozen=True)
class ThreadpoolParams:
    """Parameters of a pool (ggml_threadpool_params); the values are checked when it is made.

    Attributes:
        n_threads: how many threads there are, 1 to 512.
        cpumask: the CPUs they may run on: numbers below 512, or up to 512 booleans; empty or all false lets the system
            choose.
        prio: how they are scheduled.
        poll: how long a thread without work looks for some before it sleeps, 0 (not at all) to 100.
        strict_cpu: whether each thread is bound to one CPU of the mask, in turn; else all share the mask.
        paused: whether the pool starts paused.
    """

    n_threads: int = 4
    cpumask: Sequence[int] | Sequence[bool] = ()
    prio: Priority = Priority.NORMAL
    poll: int = 50
    strict_cpu: bool = False
    paused: bool = False

    def __post_init__(self) -> None:
        """Check every field and bring mask and priority to one form."""
        _require_int("n_threads", self.n_threads, 1, MOST_THREADS)
        _require_int("poll", self.poll, 0, MOST_POLL)
        for name in ("strict_cpu", "paused"):
            if not isinstance(getattr(self, name), bool):
                raise AttributeValueError(f"{name} must be true or false, not {getattr(self, name)!r}")
        object.__setattr__(self, "cpumask", _cpus(self.cpumask))
        if self.prio not in list(Priority):
            known = ", ".join(f"{priority.value} ({priority.name})" for priority in Priority)
            raise AttributeValueError(f"prio {self.prio!r} must be one of {known}")
        object.__setattr__(self, "prio", Priority(self.prio))

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> ThreadpoolParams:
        """Make parameters from fields by name; an unknown one is an AttributeValueError."""
        known = [field.name for field in fields(cls)]
        for name in document:
            if name not in known:
                raise AttributeValueError(
                    f"a thread pool has no parameter {name[:64]!r} (it has: {', '.join(known)}){nearest(name, known)}"
                )
        return cls(**document)

    def init(self, n_threads: int) -> None:
        """Set every field in place to its default, for `n_threads` threads (ggml_threadpool_params_init).

        Pools that were made before keep what they were made with.
        """
        for name, value in vars(ThreadpoolParams(n_threads)).items():
            object.__setattr__(self, name, value)

    def matches(self, other: ThreadpoolParams) -> bool:
        """Tell whether a pool made with these serves where `other` is asked for; `paused` does not matter."""
        names = ("n_threads", "cpumask", "prio", "poll", "strict_cpu")
        return all(getattr(self, name) == getattr(other, name) for name in names)


def _require_int(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise AttributeValueError(f"{name} must be an integer in {low}..{high}, not {value!r}")


def _cpus(mask: Sequence[int] | Sequence[bool]) -> tuple[int, ...]:
    """Return the numbers of the CPUs in a mask of numbers or booleans, in order."""
    if len(mask) > MASK_BITS:
        raise AttributeValueError(f"cpumask has {len(mask)} entries; there are at most {MASK_BITS} CPUs")
    if all(isinstance(entry, bool) for entry in mask):
        return tuple(number for number, entry in enumerate(mask) if entry)
    for entry in mask:
        _require_int("an entry of cpumask", entry, 0, MASK_BITS - 1)
    return tuple(sorted(set(mask)))
