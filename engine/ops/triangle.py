"""Triangular parts of matrices, and the causal masks made of them."""

from __future__ import annotations

import numpy as np

from engine.core.batching import by_itself
from engine.core.declarations import Documentation
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import sample
from engine.core.shape_rules import require_float
from engine.core.value import Array, Spec, Value


def _matrices(op: str, x: Value) -> Spec:
    if x.ndim < 2:
        raise ShapeError(f"{op} needs matrices [..., rows, columns], got shape {list(x.shape)}")
    return x.spec


def _masked(x: Array, keep: Array, value: float, out: Array | None) -> Array:
    if out is None:
        return np.where(keep, x, np.asarray(value, x.dtype))
    out.fill(value)
    np.copyto(out, x, where=keep)
    return out


def _lower(x: Array, diagonal: int) -> Array:
    rows, columns = x.shape[-2:]
    return np.tri(rows, columns, max(min(diagonal, columns), -rows), dtype=np.bool_)


def _tril(x: Value, *, diagonal: int) -> Spec:
    return _matrices("tril", x)


@primitive(shape_rule=_tril, samples=[sample((3, 3)), sample((2, 2, 3), diagonal=1), sample((3, 2), diagonal=-1)])
def tril(x: Array, *, diagonal: int = 0, out: Array | None = None) -> Array:
    """The lower triangle of x [..., rows, columns] up to the given diagonal (0 is the main one), 0 above it."""
    return _masked(x, _lower(x, diagonal), 0, out)


tril.batch(by_itself)


@tril.vjp
def _(g: Value, y: Value, x: Value, *, diagonal: int) -> Value:
    return tril(g, diagonal=diagonal)


def _triu(x: Value, *, diagonal: int) -> Spec:
    return _matrices("triu", x)


@primitive(shape_rule=_triu, samples=[sample((3, 3)), sample((2, 2, 3), diagonal=1), sample((3, 2), diagonal=-1)])
def triu(x: Array, *, diagonal: int = 0, out: Array | None = None) -> Array:
    """The upper triangle of x [..., rows, columns] from the given diagonal (0 is the main one), 0 below it."""
    return _masked(x, ~_lower(x, diagonal - 1), 0, out)


triu.batch(by_itself)


@triu.vjp
def _(g: Value, y: Value, x: Value, *, diagonal: int) -> Value:
    return triu(g, diagonal=diagonal)


def _diag_mask_inf(x: Value, *, n_past: int) -> Spec:
    require_float("diag_mask_inf", x)
    return _matrices("diag_mask_inf", x)


@primitive(
    shape_rule=_diag_mask_inf,
    documentation=Documentation(gradient_notes={"n_past": "-inf has no difference quotient"}),
    samples=[sample((2, 3), n_past=1), sample((2, 3, 3), n_past=0)],
)
def diag_mask_inf(x: Array, *, n_past: int = 0, out: Array | None = None) -> Array:
    """x [..., queries, keys] with -inf wherever key > n_past + query: the causal mask of attention scores (ggml)."""
    return _masked(x, _lower(x, n_past), -np.inf, out)


diag_mask_inf.batch(by_itself)


@diag_mask_inf.vjp
def _(g: Value, y: Value, x: Value, *, n_past: int) -> Value:
    return diag_mask_zero(g, n_past=n_past)


@composite(samples=[sample((2, 3), n_past=1), sample((2, 3, 3))])
def diag_mask_zero(x: Value, *, n_past: int = 0) -> Value:
    """x [..., queries, keys] with 0 wherever key > n_past + query (ggml)."""
    return tril(x, diagonal=n_past)
