"""The fits that ran last, begun again by a worker that waits: the next one is often of the same model.

What it needs is in memory then, and its plans are in the process's cache. The columns are zeros: a process has no data
of a fit but its own.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

import engine
from app.domain.errors import BadMessage
from app.domain.messages import Assignment, decode, encode
from app.domain.runtime import Runtime
from app.worker.columns import MappedColumns
from app.worker.resources import select_executor

ENCODED_MAX = 60_000
"""Bytes of the description of a fit that is begun again; so much fits into a datagram."""

MEMORY_MAX = 320 << 20
"""Bytes that a fit may need, by its estimate, to be begun again: a worker that waits has nothing reserved.

An estimate has up to 242 MiB for the process itself.
"""

ROWS = 1024
"""The maximum number of rows of a column, unless a batch has more."""


class ZeroColumns(MappedColumns):
    """Columns of the types and shapes of files, which hold zeros."""

    def __init__(self, paths: Mapping[str, list[str]], texts: Mapping[str, list[str]], rows: int) -> None:
        """Give at most `rows` rows of each file; `texts` as in `MappedColumns`."""
        super().__init__(paths, lambda _: None, texts=texts)
        self._rows = rows

    def files(self, name: str) -> list[np.ndarray[Any, Any]]:
        """Return zeros for the numbers of a column, by file."""
        return [np.zeros_like(file[: self._rows], subok=False) for file in super().files(name)]


def is_alike(description: bytes, other: bytes) -> bool:
    """Return whether two described fits begin alike: of one graph, on the same data, by one optimizer.

    BadMessage if one of them is no description.
    """
    return _beginning(_read(description)) == _beginning(_read(other))


def _beginning(assignment: Assignment) -> tuple[object, ...]:
    request = assignment.request
    data = (assignment.columns, assignment.validation_columns, assignment.texts, request.get("batch_size"))
    return (*data, assignment.definition, (request.get("optimizer") or {}).get("kind"))


def _read(description: bytes) -> Assignment:
    assignment = decode(description)
    if not isinstance(assignment, Assignment):
        raise BadMessage("the description of a fit is another message")
    return assignment


def describe_fit(assignment: Assignment) -> bytes | None:
    """Return what `begin_fit` needs of an assignment; None if it is too large, or made of several fits or processes."""
    several = assignment.replicas > 1 or assignment.sweep is not None
    if several or assignment.memory_bytes is None or assignment.memory_bytes > MEMORY_MAX:
        return None
    encoded = encode(assignment)
    return encoded if len(encoded) <= ENCODED_MAX else None


def begin_fit(description: bytes) -> None:
    """Take the first step of a fit. It uses one thread, and writes nothing.

    EngineError, OSError or BadMessage if that cannot be done, for instance since its data was deleted.
    """
    assignment = _read(description)
    # No thread stays: the process may fork later.
    runtime = select_executor(replace(Runtime.from_json(assignment.runtime), threads=1), engine.Alone())
    batch = assignment.request.get("batch_size")
    rows = max(batch if isinstance(batch, int) else 0, ROWS)
    held_out = assignment.validation_columns
    columns = ZeroColumns(assignment.columns, assignment.texts, rows)
    validation = None if held_out is None else ZeroColumns(held_out, assignment.validation_texts, rows)
    graph, recipe = engine.read_checked_graph(assignment.definition), engine.read_recipe(assignment.request)
    execution = engine.Execution(runtime.executor, runtime.threads)
    with closing(engine.Fit(graph, recipe, columns, validation, execution=execution)) as fit:
        fit.bind()
        fit.advance()
