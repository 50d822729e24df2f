"""Arrays and batches given by a caller, checked against the graph before anything is computed; and their reduction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from engine.core.errors import DocumentError, Finding, escape, nearest
from engine.core.value import Array, Shape
from engine.execution.plan import NumpyExecutor
from engine.graph.definition import Definition, StateSpec
from engine.graph.tensors import as_numbers, check_feeds, row_inputs
from engine.graph.trace import bind_dims
from engine.training.step.reduction import Reduction


def check_arrays(specs: Mapping[str, StateSpec], given: Mapping[str, Any], pointer: str) -> dict[str, Array]:
    """Return arrays of the dtypes and shapes that `specs` declare for their names.

    Raises:
        DocumentError: every unknown name and every array that does not suit, with pointers below `pointer`.
    """
    findings, found = [], {}
    for name, value in given.items():
        place, spec, array = f"{pointer}/{escape(name)}", specs.get(name), as_numbers(value)
        if spec is None:
            findings.append(unknown_name(pointer, name, specs))
        elif array is None:
            findings.append(Finding(place, "dtype_mismatch", f"{name!r} takes numbers of {spec.dtype.name}"))
        elif array.shape != spec.shape:
            detail = f"{name!r} has shape {list(spec.shape)} in the graph, the array given {list(array.shape)}"
            findings.append(Finding(place, "shape_mismatch", detail))
        else:
            with np.errstate(all="ignore"):
                found[name] = array.astype(spec.dtype)
    if findings:
        raise DocumentError(findings)
    return found


def unknown_name(pointer: str, name: object, known: Iterable[str]) -> Finding:
    """Return the fault that nothing at `pointer` has this name."""
    names = tuple(known)
    detail = f"there is none called {str(name)[:64]!r} here{nearest(str(name), names)}"
    return Finding(f"{pointer}/{escape(name)}", "unknown_name", detail)


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


class BatchReader:
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
        """Yield a batch in parts of `size` rows; the last may have fewer."""
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


Wanted = Literal["mean", "sum"]


def check_request(definition: Definition, reduction: object, size: object, *, outputs: bool) -> None:
    """Check the options of a forward and backward pass: reduction, micro-batch size, outputs.

    Raises:
        DocumentError: with a pointer to each fault.
    """
    findings = []
    if not definition.losses:
        detail = "the graph has no loss; call forward(keep=True), then backward with cotangents"
        findings.append(Finding("", "no_losses", detail))
    if reduction not in (None, "mean", "sum"):
        detail = f"reduction must be 'mean' or 'sum', not {str(reduction)[:64]!r}"
        findings.append(Finding("/reduction", "attribute_invalid", detail))
    if size is not None and (type(size) is not int or size < 1):
        detail = f"micro_batch_size must be an integer of at least 1, not {str(size)[:64]}"
        findings.append(Finding("/micro_batch_size", "out_of_range", detail))
    elif size is not None and outputs:
        detail = "outputs are those of a whole batch; leave out micro_batch_size, or call predict"
        findings.append(Finding("/outputs", "conflict", detail))
    if findings:
        raise DocumentError(findings)


def choose_reduction(natural: Reduction | None, wanted: Wanted | None, *, parted: bool) -> Wanted | None:
    """Return the reduction over rows; None if the loss of the graph itself is used.

    The loss of the graph itself cannot be used for a batch in parts. "sum" always adds the losses of rows, so that
    one call for each part gives the same bits as one call for the batch.

    Args:
        natural: the reduction over rows of the graph's own loss; None if it has another form.
        wanted: the reduction that the caller requests, or None.
        parted: whether the batch is computed in parts.

    Raises:
        DocumentError: the loss of the graph does not allow this reduction.
    """
    if wanted is None and not parted:
        return None
    if natural is None:
        detail = "the loss of this graph neither adds nor averages the losses of rows"
        raise _refusal(f"{detail}: leave out 'reduction', and compute the batch at once")
    wanted = wanted or ("sum" if natural == "sum" else "mean")
    if wanted == "mean" and natural != "sum" and not parted:
        return None
    if wanted == "mean" and natural == "weighted":
        detail = "a mean over the weights of targets is no sum over parts of a batch"
        raise _refusal(f"{detail}: take the reduction 'sum', or compute the batch at once")
    return wanted


def loss_scale(way: Wanted | None, batch: Batch) -> float:
    """Return the factor of the sum over the rows of a batch."""
    return 1.0 / max(batch.rows, 1) if way == "mean" else 1.0


def _refusal(detail: str) -> DocumentError:
    return DocumentError([Finding("/reduction", "attribute_invalid", detail)])
