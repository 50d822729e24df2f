"""Steps with the axes that they go along moved to where kernels find them; operands then are views that lie apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from engine.core.shape_rules import normalize_axes
from engine.execution.native.lowering import Work


def _along_last(work: Work) -> Work:
    """Return a step with the axis it goes along as the last."""
    axis = work.attrs["axis"]
    if any(not array.ndim for array in (*work.inputs, *work.outputs)):
        return work
    inputs, outputs = ([np.moveaxis(array, axis, -1) for array in arrays] for arrays in (work.inputs, work.outputs))
    return replace(work, inputs=inputs, outputs=outputs, attrs={**work.attrs, "axis": -1})


def _reduced_last(work: Work) -> Work:
    """Return a reduction with the axes that it is over as the last."""
    (x,), (out,) = work.inputs, work.outputs
    axes = normalize_axes(work.attrs["axis"], x.ndim)
    last = tuple(range(x.ndim - len(axes), x.ndim))
    kept = [extent for axis, extent in enumerate(x.shape) if axis not in axes]
    attrs = {**work.attrs, "axis": last, "keepdims": False}
    return replace(work, inputs=[np.moveaxis(x, axes, last)], outputs=[out.reshape(kept, copy=False)], attrs=attrs)


def _summed_first(work: Work) -> Work:
    """Return a sum to a shape with the summed axes as the first, which the shape lacks."""
    (x,), (out,) = work.inputs, work.outputs
    shape = (1,) * (x.ndim - out.ndim) + out.shape
    summed = [axis for axis, extent in enumerate(shape) if extent == 1 != x.shape[axis]]
    first = tuple(range(len(summed)))
    moved = np.moveaxis(x, summed, first)
    return replace(work, inputs=[moved], outputs=[out.reshape(moved.shape[len(summed) :], copy=False)])


def _indexed_first(work: Work) -> Work:
    """Return a step with the indexed axes as the first, if they lie apart: so do those of the indices in NumPy."""
    axes, indices = work.attrs["axes"], work.inputs[-len(work.attrs["axes"]) :]
    first = tuple(range(len(axes)))
    others, (out,) = work.inputs[: -len(axes)], work.outputs
    places = [axis % (others[0] if "shape" not in work.attrs else out).ndim for axis in axes]
    if places[-1] - places[0] == len(axes) - 1:
        return work
    attrs = {**work.attrs, "axes": first}
    if "shape" in attrs:  # index_scatter
        moved = np.moveaxis(out, places, first)
        return replace(work, outputs=[moved], attrs={**attrs, "shape": moved.shape})
    given = [np.moveaxis(others[0], places, first), *others[1:]]
    made = out if len(others) == 1 else np.moveaxis(out, places, first)  # of index_set it is like x
    return replace(work, inputs=[*given, *indices], outputs=[made], attrs=attrs)


ARRANGEMENTS: Mapping[str, Callable[[Work], Work]] = {
    **dict.fromkeys(
        ("gather", "scatter_add", "softmax", "softmax_backward", "log_softmax", "log_softmax_backward"), _along_last
    ),
    **dict.fromkeys(("all", "amax", "amin", "any", "logsumexp", "mean", "prod", "sum"), _reduced_last),
    "sum_to": _summed_first,
    **dict.fromkeys(("index_get", "index_scatter", "index_set"), _indexed_first),
}
"""By op, what is done with a step that its kernel does not take as it is."""
