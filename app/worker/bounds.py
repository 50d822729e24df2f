"""What the process of a fit or session may take: enough for what was estimated, and not for what was not."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from app.domain.messages import AnyAssignment, Assignment, ComputeAssignment
from app.domain.runtime import Runtime
from app.system.confinement import Confinement, address_space_bytes, widen

MIB = 1024**2
MARGIN_BYTES = 256 * MIB
"""Address space beside the estimate, which is of memory: libraries, such as a compiler that is loaded later, reserve
more than they use."""

THREAD_BYTES = 72 * MIB
"""Address space that a thread reserves: its stack, and an arena for what it allocates."""

OTHER_THREADS = 3
"""Threads of a worker beside those that compute."""

FILE_BYTES = 1024 * MIB
"""So much may a file be larger than the memory: also the server's log is one, which workers write to."""


def confine(assignment: AnyAssignment, runtime: Runtime) -> None:
    """Bound this process, and those that it will fork, to what was estimated for each.

    What it finds no memory for within these bounds fails there, while others go on. There is no limit on CPU time,
    since a fit may run for days: `timeout_seconds` bounds it, which may change while it runs. Nor is there one on
    processes, since the system counts those of the whole user, threads and other programs included.
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
    """Return the size of the files with the rows of an assignment, and of the copies of columns that are recoded."""
    if isinstance(assignment, Assignment):
        held_out = assignment.validation_columns or {}
        copied = _size_of(_some(assignment.columns, assignment.recodings))
        copied += _size_of(_some(held_out, assignment.validation_recodings))
        return _size_of(assignment.columns) + _size_of(held_out) + copied
    if isinstance(assignment, ComputeAssignment):
        return 0
    copies = (_some(columns, assignment.classes.get(name, ())) for name, columns in assignment.datasets.items())
    return sum(map(_size_of, assignment.datasets.values())) + sum(map(_size_of, copies))


def room_for(columns: Mapping[str, Sequence[str]], text: Iterable[str] = ()) -> None:
    """Let this process map the files of columns that it was not begun with, and copy those that hold `text`."""
    widen(_size_of(columns) + _size_of(_some(columns, text)))


def _some(columns: Mapping[str, Sequence[str]], names: Iterable[str]) -> dict[str, Sequence[str]]:
    return {name: columns[name] for name in names}


def _size_of(columns: Mapping[str, Sequence[str]]) -> int:
    """Return the size of the files of columns; one that is gone has none."""
    return sum(map(_size, _paths(columns.values())))


def _paths(columns: Iterable[Sequence[str]]) -> Iterable[Path]:
    return (Path(path) for paths in columns for path in paths)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
