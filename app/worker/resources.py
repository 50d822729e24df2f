"""What a worker process may use: memory and file limits, CPUs, niceness, executor and threads."""

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import engine
from app.domain.messages import AnyAssignment, Assignment, ComputeAssignment, Log
from app.domain.runtime import AUTO, NATIVE, NUMPY, Runtime
from app.system.confinement import Confinement, address_space_bytes, widen

MIB = 1024**2
MARGIN_BYTES = 256 * MIB
"""Address space beyond the estimate, which is of memory: libraries such as a compiler reserve more than they use."""

THREAD_BYTES = 72 * MIB
"""Address space that a thread reserves: its stack, and an arena for what it allocates."""

OTHER_THREADS = 3
"""Threads of a worker that do not compute."""

FILE_BYTES = 1024 * MIB
"""How much larger a file may be than the memory: the server's log, which workers append to, is one."""


def confine(assignment: AnyAssignment, runtime: Runtime) -> None:
    """Limit this process, and those that it will fork, to the estimate.

    An allocation beyond it fails in this process, while others go on. CPU time is not limited, since a fit may run
    for days: `timeout_seconds` limits it, which may change while it runs. Neither is the number of processes, since
    the system counts those of the whole user.
    """
    if assignment.memory_bytes is None:
        return
    present = address_space_bytes()
    threads = (runtime.threads + OTHER_THREADS) * THREAD_BYTES
    memory = assignment.memory_bytes + mapped_bytes(assignment) + threads + MARGIN_BYTES
    Confinement(
        memory_bytes=None if present is None else present + memory, file_bytes=_largest_file(assignment) + FILE_BYTES
    ).enter()


def _largest_file(assignment: AnyAssignment) -> int:
    answer = assignment.answer_bytes if isinstance(assignment, ComputeAssignment) else 0
    return max(assignment.memory_bytes or 0, answer)


def mapped_bytes(assignment: AnyAssignment) -> int:
    """Return the size of the column files of an assignment, and of the copies of columns that are recoded."""
    if isinstance(assignment, Assignment):
        held_out = assignment.validation_columns or {}
        copied = _size_of(_select(assignment.columns, assignment.recodings))
        copied += _size_of(_select(held_out, assignment.validation_recodings))
        return _size_of(assignment.columns) + _size_of(held_out) + copied
    if isinstance(assignment, ComputeAssignment):
        return 0
    copies = (_select(columns, assignment.classes.get(name, ())) for name, columns in assignment.datasets.items())
    return sum(map(_size_of, assignment.datasets.values())) + sum(map(_size_of, copies))


def allow_columns(columns: Mapping[str, Sequence[str]], text: Iterable[str] = ()) -> None:
    """Raise the limit by the files of more columns, and by the copies of those that hold `text`."""
    widen(_size_of(columns) + _size_of(_select(columns, text)))


def _select(columns: Mapping[str, Sequence[str]], names: Iterable[str]) -> dict[str, Sequence[str]]:
    return {name: columns[name] for name in names}


def _size_of(columns: Mapping[str, Sequence[str]]) -> int:
    """Return the size of the files of columns; a missing file has none."""
    return sum(map(_size, _paths(columns.values())))


def _paths(columns: Iterable[Sequence[str]]) -> Iterable[Path]:
    return (Path(path) for paths in columns for path in paths)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


EXECUTOR_UNUSABLE = (
    "the executor {executor!r}, which this fit or session requires, cannot be used here: {reason}. Another executor "
    "would change its numbers: fix that, or submit it again with the executor 'numpy'"
)
FALLBACK = "the NumPy executor is used, which is slower: {reason}"


def apply_runtime(runtime: Runtime) -> None:
    """Set CPU affinity and niceness; what the system does not permit is skipped."""
    with contextlib.suppress(OSError):
        os.nice(runtime.niceness)
    if runtime.affinity is not None and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, runtime.affinity)


def select_executor(
    runtime: Runtime, collective: engine.Collective, report: Callable[[Log], None] | None = None
) -> Runtime:
    """Choose the executor if that is left open, and set the number of BLAS threads.

    The native executor is used if all ranks can use it; `report` is called with the reason if it is installed and
    cannot be used. MissingExtra if a required executor cannot be used: a fit never changes its executor.
    """
    if runtime.executor == AUTO:
        reason = _why_not_native(collective)
        runtime = replace(runtime, executor=NUMPY if reason else NATIVE)
        if reason and report is not None and NATIVE in engine.executors():
            report(Log("warning", FALLBACK.format(reason=reason), "native_unavailable"))
    elif missing := _why_unusable(runtime.executor):
        raise engine.MissingExtra(EXECUTOR_UNUSABLE.format(executor=runtime.executor, reason=missing))
    # The native executor shares out a batch among threads of its own.
    engine.set_blas_threads(runtime.threads if runtime.executor == NUMPY else 1)
    return replace(runtime, fingerprint=engine.fingerprint(runtime.executor))


def _why_not_native(collective: engine.Collective) -> str:
    """Return the reason of the first rank that cannot use the native executor, empty if all can."""
    reasons = collective.gather((engine.why_native_unusable() or "").encode())
    return next((reason.decode() for reason in reasons if reason), "")


def _why_unusable(executor: str) -> str | None:
    if executor == NATIVE:
        return engine.why_native_unusable()
    return None if executor == NUMPY else f"this server has {', '.join(engine.executors())}"
