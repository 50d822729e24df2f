"""Embedding tables looked up by integers, and bags of embeddings."""

from __future__ import annotations

from typing import Annotated, Literal

from engine.core.attributes import Length, Positive, Range
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.value import Value
from engine.nn.layers.table import Scope, layer

Limit = Annotated[float | None, Range(0, above=True)]


def _table(scope: Scope, kind: str, rows: int, units: int, padding_idx: int | None) -> Value:
    if padding_idx is None:
        return scope.parameter("weight", (rows, units), kind="normal")
    if not -rows <= padding_idx < rows:
        raise AttributeValueError(
            f"{kind}: padding_idx {padding_idx} must be one of the {rows} rows, {-rows} to {rows - 1}"
        )
    return scope.parameter("weight", (rows, units), kind="normal_rows", zero_row=padding_idx % rows)


def _renormalize(scope: Scope, weight: Value, x: Value, max_norm: float | None, norm_type: float) -> Value:
    """Scale the rows that are looked up to a norm of at most max_norm, if one is given."""
    if max_norm is None:
        return weight
    return scope.apply("limit_rows", weight, x, name="limited", max_norm=max_norm, norm_type=norm_type)


@layer
def embedding(
    scope: Scope,
    x: Value,
    *,
    rows: Length,
    units: Length,
    padding_idx: int | None = None,
    max_norm: Limit = None,
    norm_type: Positive = 2.0,
    scale_grad_by_freq: bool = False,
) -> Value:
    """Rows of a table [rows, units] looked up by integer inputs; initialised standard normal.

    The row `padding_idx` is initialised to 0 and not trained. Rows whose norm of order `norm_type` exceeds `max_norm`
    are scaled to it when they are looked up, in training in the table itself. `scale_grad_by_freq` divides the gradient
    of a row by its number of lookups in the batch. See torch.nn.Embedding.
    """
    weight = _renormalize(scope, _table(scope, "embedding", rows, units, padding_idx), x, max_norm, norm_type)
    return scope.apply("embedding", weight, x, padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq)


@layer
def embedding_bag(
    scope: Scope,
    x: Value,
    *,
    rows: Length,
    units: Length,
    mode: Literal["sum", "mean", "max"] = "mean",
    padding_idx: int | None = None,
    max_norm: Limit = None,
    norm_type: Positive = 2.0,
    weights: str | None = None,
) -> Value:
    """Sum, mean or largest elements of the rows of a table [rows, units] looked up by integers [batch, n]: [batch,
    units].

    Entries equal to `padding_idx` are left out; `max_norm` and `norm_type` as in embedding. `weights` names an input
    [batch, n] that multiplies the rows in mode "sum". Initialised as torch.nn.EmbeddingBag.
    """
    if x.ndim != 2:
        raise ShapeError(f"embedding_bag needs an input [batch, n] of integers, got shape {list(x.shape)}")
    if weights is not None and mode != "sum":
        raise AttributeValueError(f"embedding_bag: weights go with mode 'sum', not {mode!r}")
    table = _table(scope, "embedding_bag", rows, units, padding_idx)
    inputs = [_renormalize(scope, table, x, max_norm, norm_type), x]
    if weights is not None:
        return _weighted_bag(scope, inputs[0], x, scope.input(weights), padding_idx)
    return scope.apply("embedding_bag", *inputs, mode=mode, padding_idx=padding_idx)


def _weighted_bag(scope: Scope, table: Value, x: Value, weights: Value, padding_idx: int | None) -> Value:
    """Sum the rows of each bag times their weights; padding has weight 0."""
    if weights.shape != x.shape:
        raise ShapeError(f"embedding_bag: weights {list(weights.shape)} must have the shape {list(x.shape)}")
    if padding_idx is not None:
        counted = scope.apply("ne", x, padding_idx % table.shape[0], name="counted")
        weights = scope.apply("where", counted, weights, 0.0, name="weights")
    picked = scope.apply("embedding", table, x, name="rows", padding_idx=padding_idx)
    columns = scope.apply("unsqueeze", weights, name="columns", axis=2)
    return scope.apply("sum", scope.apply("mul", picked, columns, name="weighted"), axis=1)
