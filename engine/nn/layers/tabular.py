"""A network for tables: embeddings of categories and numbers, followed by dense layers."""

from __future__ import annotations

from typing import Annotated

from engine.core.attributes import Fraction, Range
from engine.core.dtypes import is_float
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.value import Value
from engine.nn.layers.activation import Activation, activate
from engine.nn.layers.dense import linear
from engine.nn.layers.dropout import dropout as drop
from engine.nn.layers.embedding import embedding
from engine.nn.layers.normalization import batch_norm
from engine.nn.layers.table import Inner, Scope, layer

WIDEST = 50


def embedding_units(levels: int) -> int:
    """Return the usual embedding width for a number of levels: 1.6 n^0.56, at most 50 (Howard et al., fastai)."""
    usual: float = 1.6 * levels**0.56
    return max(1, min(WIDEST, round(usual)))


@layer
def tabular(
    scope: Scope,
    x: Value,
    *,
    categories: str | None = None,
    rows: Annotated[tuple[int, ...], Range(1)] = (),
    embedding_width: Annotated[int | None, Range(1)] = None,
    units: Annotated[tuple[int, ...], Range(1)] = (128, 64),
    activation: Activation = "relu",
    dropout: Fraction = 0.0,
    embedding_dropout: Fraction = 0.0,
    normalize: bool = False,
    squeeze: bool = False,
) -> Value:
    """Embeddings of categories, concatenated with the numbers x [batch, n], and dense layers of `units`.

    `categories` names an input [batch, k] of indices, as produced by the columns of a fit; `rows` is the number of
    indices of each of the k columns. Each has an embedding of its own, of `embedding_width` or 1.6 n^0.56 units (at
    most 50). Without numbers x itself holds the indices. With `normalize` each dense layer but the last is followed by
    batch normalization; `activation` and `dropout` come after it. The last of the units are the outputs, without
    either; `squeeze` drops their axis if they are one.
    """
    if not units:
        raise AttributeValueError("tabular: units must be at least one number")
    parts = _embedded(scope, x, categories, rows, embedding_width)
    if parts and embedding_dropout:
        joined = scope.apply("concat", *parts, axis=-1, name="embeddings") if len(parts) > 1 else parts[0]
        parts = [drop(Inner(scope, "embedding_dropout"), joined, p=embedding_dropout)]
    if categories is not None or not rows:
        parts = [x, *parts]
    hidden = scope.apply("concat", *parts, axis=-1, name="columns") if len(parts) > 1 else parts[0]
    for place, width in enumerate(units[:-1]):
        hidden = linear(Inner(scope, f"dense_{place}"), hidden, units=width)
        if normalize:
            hidden = batch_norm(Inner(scope, f"norm_{place}"), hidden)
        hidden = activate(Inner(scope, f"dense_{place}"), hidden, activation)
        if dropout:
            hidden = drop(Inner(scope, f"dropout_{place}"), hidden, p=dropout)
    outputs = linear(Inner(scope, "outputs"), hidden, units=units[-1])
    return scope.apply("squeeze", outputs, axis=-1) if squeeze and units[-1] == 1 else outputs


def _embedded(scope: Scope, x: Value, categories: str | None, rows: tuple[int, ...], width: int | None) -> list[Value]:
    """Return the embedding of each column of categories."""
    if not rows:
        if categories is not None:
            raise AttributeValueError("tabular: rows must give the number of indices of each column of categories")
        return []
    indices = x if categories is None else scope.input(categories)
    if indices.ndim != 2 or indices.shape[1] != len(rows) or is_float(indices.dtype):
        found = f"{indices.dtype.name} {list(indices.shape)}"
        raise ShapeError(
            f"tabular: the categories must be integers [batch, {len(rows)}], one for each of rows, not {found}"
        )
    columns = scope.apply_all("unbind", indices, axis=1, name="indices")
    return [
        embedding(Inner(scope, f"category_{place}"), column, rows=count, units=width or embedding_units(count))
        for place, (column, count) in enumerate(zip(columns, rows, strict=True))
    ]
