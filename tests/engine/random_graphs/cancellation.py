"""The sizes of what an op adds up or subtracts: its result may be off by the rounding errors of that, however small it
is itself.

The gradient of the sum of `standardize(x)` is 0 by mathematics. What comes out is the rounding error of the mean
divided by the standard deviation: that of one kernel and that of another need not be alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.core.shape_rules import normalize_axes
from engine.core.value import Array

LONG_SUM = 64
"""Of so many terms a sum is as uncertain as its size."""


class Cancelled(NamedTuple):
    """Numbers that the result of an op is the sum or difference of: an error of them moves it by `share` times as much.

    Attributes:
        size: how large they are, float64; with extent 1 on axes along which all have the same error, that of a sum.
        share: of the shape of the result, or 1.
    """

    size: Array
    share: Array | float = 1.0


def cancelled(op: str, inputs: Sequence[Array], attrs: Mapping[str, Any]) -> Sequence[Cancelled]:
    """Return what the first result of an op is as uncertain as, besides its own size; nothing for most."""
    rule = RULES.get(op)
    return () if rule is None else rule(*(array.astype(np.float64) for array in inputs), **attrs)


def _centred(x: Array, axes: tuple[int, ...], eps: float, weight: Array | float = 1.0) -> Sequence[Cancelled]:
    """Of (x - mean) / std * weight."""
    factor = weight / np.sqrt(x.var(axis=axes, keepdims=True) + eps)
    return (Cancelled(_mean(np.abs(x), axes) * np.abs(factor)),)


def _standardize(x: Array, *, axis: Any, eps: float, centre: bool) -> Sequence[Cancelled]:
    return _centred(x, normalize_axes(axis, x.ndim), eps) if centre else ()


def _batch_norm(x: Array, weight: Array, *_: Array, eps: float, training: bool, **__: Any) -> Sequence[Cancelled]:
    axes = (0, *range(2, x.ndim))
    return _centred(x, axes, eps, weight.reshape(1, -1, *(1,) * (x.ndim - 2))) if training else ()


def _standardize_backward(g: Array, y: Array, factor: Array, *, axis: Any, centre: bool) -> Sequence[Cancelled]:
    axes = normalize_axes(axis, g.ndim)
    along = Cancelled(factor * _mean(np.abs(g * y), axes), y)
    return (along, Cancelled(factor * _mean(np.abs(g), axes))) if centre else (along,)


def _batch_norm_backward(g: Array, x: Array, weight: Array, *, eps: float) -> Sequence[Cancelled]:
    axes = (0, *range(2, x.ndim))
    factor = 1 / np.sqrt(x.var(axis=axes, keepdims=True) + eps)
    y, shift = (x - _mean(x, axes)) * factor, _mean(np.abs(x), axes) * factor  # by how much y is uncertain
    scale, sizes = np.abs(factor * weight.reshape(factor.shape)), _mean(np.abs(g), axes)
    along = Cancelled(scale * (_mean(np.abs(g * y), axes) + shift * sizes), y)
    return along, Cancelled(scale * (sizes + shift * np.abs(_mean(g * y, axes))))


def _softmax_backward(g: Array, y: Array, *, axis: int) -> Sequence[Cancelled]:
    return (Cancelled(np.abs(g * y).sum(axis=axis, keepdims=True), y),)


def _log_softmax_backward(g: Array, y: Array, *, axis: int) -> Sequence[Cancelled]:
    return (Cancelled(np.abs(g).sum(axis=axis, keepdims=True), np.exp(y)),)


def _scatter_add(x: Array, index: Array, *, axis: int, shape: tuple[int, ...]) -> Sequence[Cancelled]:
    if x.ndim != len(shape) or not x.size:
        return ()
    grid = list(np.ogrid[tuple(slice(extent) for extent in x.shape)])
    grid[axis] = index.astype(np.int64)
    return _sums_at(tuple(grid), x, shape)


def _add_rows(x: Array, index: Array, *, rows: int, padding_idx: int | None) -> Sequence[Cancelled]:
    places, width = index.astype(np.int64).reshape(-1) % max(rows, 1), x.shape[index.ndim :]
    return _sums_at((places,), x.reshape(index.size, *width), (rows, *width))


def _sums_at(places: tuple[Any, ...], x: Array, shape: tuple[int, ...]) -> Sequence[Cancelled]:
    """Of sums one after the other: the rounding errors of terms that are alike add up as the terms do."""
    sizes, terms = np.zeros(shape), np.zeros(shape)
    np.add.at(sizes, places, np.abs(x))
    np.add.at(terms, places, 1.0)
    return (Cancelled(sizes * terms / LONG_SUM),)


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    mean: Array = x.mean(axis=axes, keepdims=True)
    return mean


RULES: Mapping[str, Callable[..., Sequence[Cancelled]]] = {
    "standardize": _standardize,
    "standardize_backward": _standardize_backward,
    "batch_norm": _batch_norm,
    "batch_norm_backward": _batch_norm_backward,
    "scatter_add": _scatter_add,
    "add_rows": _add_rows,
    "softmax_backward": _softmax_backward,
    "log_softmax_backward": _log_softmax_backward,
}
