"""Batches as a caller gives them: checked against the graph before anything is computed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core.errors import DocumentError, Finding
from engine.core.value import Array, Shape
from engine.execution.plan import NumpyExecutor
from engine.graph.definition import Definition
from engine.graph.feeds import check_feeds, row_inputs
from engine.graph.trace import bind_dims

KNOWN = 64
"""Sets of shapes whose extents are kept."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Arrays for the inputs of a graph that are given, in its order, the shapes of all and the extents that follow.

    `by_row` are the inputs that hold one entry for each row.
    """

    arrays: Mapping[str, Array]
    shapes: tuple[Shape, ...]
    dims: Mapping[str, int]
    by_row: tuple[str, ...]

    @property
    def rows(self) -> int:
        """Number of rows.

        Raises:
            DocumentError: no input has an axis for them.
        """
        if not self.by_row:
            detail = "no input begins with a named extent, so there are no rows"
            raise DocumentError([Finding("/inputs", "shape_mismatch", detail)])
        return len(self.arrays[self.by_row[0]])

    def feed(self, executor: NumpyExecutor) -> None:
        """Write the arrays into the inputs of a plan."""
        for name, array in self.arrays.items():
            executor.inputs[name][...] = array


class Feeds:
    """Checks batches for one graph."""

    def __init__(self, definition: Definition) -> None:
        """Check what `definition` is fed."""
        self._definition = definition
        self._dtypes = {name: spec.dtype for name, spec in definition.inputs.items()}
        self._dims: dict[tuple[Shape, ...], dict[str, int]] = {}
        self._by_row = row_inputs(definition)

    def batch(self, inputs: Mapping[str, Any], needed: Collection[str]) -> Batch:
        """Check the inputs of a call, of which those that are `needed` must be given.

        Raises:
            DocumentError: a missing or unknown input, numbers or a shape that do not suit it, with its pointer.
        """
        arrays = self._ready(inputs)
        if arrays is None:
            arrays = self._cast(check_feeds(self._definition, needed, inputs))
        if len(arrays) < len(self._dtypes):
            return self._partial_batch(arrays)
        shapes = tuple([array.shape for array in arrays.values()])
        dims = self._dims.get(shapes)
        if dims is None:
            dims = dict.fromkeys(self._definition.dimension_names, 1)
            dims.update(bind_dims(self._definition, {name: array.shape for name, array in arrays.items()}))
            if len(self._dims) >= KNOWN:
                self._dims.pop(next(iter(self._dims)))
            self._dims[shapes] = dims
        return Batch(arrays, shapes, dims, self._by_row)

    def _partial_batch(self, arrays: Mapping[str, Array]) -> Batch:
        """Return a batch without some inputs; an extent that only these have is 1."""
        given = {name: array.shape for name, array in arrays.items()}
        dims = {**dict.fromkeys(self._definition.dimension_names, 1), **bind_dims(self._definition, given)}
        shapes = tuple(
            tuple(dims[extent] if isinstance(extent, str) else extent for extent in spec.shape)
            for spec in self._definition.inputs.values()
        )
        return Batch(arrays, shapes, dims, tuple(name for name in self._by_row if name in arrays))

    def parts(self, batch: Batch, size: int) -> Iterator[Batch]:
        """Yield a batch in parts of so many rows; the last may have fewer."""
        for start in range(0, batch.rows, size):
            cut = {n: a[start : start + size] if n in self._by_row else a for n, a in batch.arrays.items()}
            yield self.batch(cut, cut.keys())

    def _ready(self, inputs: Mapping[str, Any]) -> dict[str, Array] | None:
        """Return arrays that can be fed as they are, in the graph's order; None if any needs a closer look."""
        if len(inputs) != len(self._dtypes):
            return None
        arrays: dict[str, Array] = {}
        for name, dtype in self._dtypes.items():
            array = inputs.get(name)
            if not isinstance(array, np.ndarray) or array.dtype is not dtype:
                return None
            arrays[name] = array
        return arrays

    def _cast(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        with np.errstate(all="ignore"):
            return {name: array.astype(self._dtypes[name], copy=False) for name, array in arrays.items()}
