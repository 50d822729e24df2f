"""Tables of rows picked by integers: embeddings and bags of them."""

from __future__ import annotations

from typing import Literal

from engine.errors import AttributeValueError, ShapeError
from engine.layers.scope import Scope
from engine.layers.table import layer
from engine.value import Value


def _table(scope: Scope, kind: str, rows: int, units: int, padding_idx: int | None) -> Value:
    if rows < 1 or units < 1:
        raise AttributeValueError(f"{kind}: rows {rows} and units {units} must be at least 1")
    if padding_idx is None:
        return scope.parameter("weight", (rows, units), kind="normal")
    if not 0 <= padding_idx < rows:
        raise AttributeValueError(f"{kind}: padding_idx {padding_idx} must be one of the {rows} rows, 0 to {rows - 1}")
    return scope.parameter("weight", (rows, units), kind="normal_rows", zero_row=padding_idx)


@layer
def embedding(scope: Scope, x: Value, *, rows: int, units: int, padding_idx: int | None = None) -> Value:
    """Rows of a table [rows, units] picked by integer inputs; starts standard normal.

    The row `padding_idx` starts as 0 and is not trained; see torch.nn.Embedding.
    """
    weight = _table(scope, "embedding", rows, units, padding_idx)
    return scope.apply("embedding", weight, x, padding_idx=padding_idx)


@layer
def embedding_bag(
    scope: Scope,
    x: Value,
    *,
    rows: int,
    units: int,
    mode: Literal["sum", "mean", "max"] = "mean",
    padding_idx: int | None = None,
) -> Value:
    """Sum, mean or largest elements of the rows of a table [rows, units] that integers [batch, n] pick: [batch, units].

    Entries equal to `padding_idx` do not count. Starts as torch.nn.EmbeddingBag.
    """
    if x.ndim != 2:
        raise ShapeError(f"embedding_bag needs an input [batch, n] of integers, got shape {list(x.shape)}")
    weight = _table(scope, "embedding_bag", rows, units, padding_idx)
    return scope.apply("embedding_bag", weight, x, mode=mode, padding_idx=padding_idx)
