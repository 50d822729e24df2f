"""Matrix products by ggml's rules: rows against rows, and a batch of which each matrix serves several of the other."""

from __future__ import annotations

from engine.core.declarations import Numerics
from engine.core.errors import ShapeError
from engine.core.registry import composite
from engine.core.samples import sample
from engine.core.value import Value
from engine.ops.linalg import matrix_product
from engine.ops.shape import broadcast_to, reshape, transpose


def _shared(op: str, a: Value, b: Value) -> Value:
    """Give every matrix of b one of a: as many following ones share it as the batches' extents divide."""
    if a.ndim < 2 or b.ndim < 2:
        raise ShapeError(f"{op} needs matrices on both sides, got {list(a.shape)} and {list(b.shape)}")
    rank = max(a.ndim, b.ndim)
    shapes = [(1,) * (rank - x.ndim) + x.shape for x in (a, b)]
    batch, wanted = (shape[:-2] for shape in shapes)
    if any(part < 1 or extent % part for part, extent in zip(batch, wanted, strict=True)):
        raise ShapeError(
            f"{op}: on every axis the batch {list(wanted)} of the second must be a multiple of that of the first, "
            f"{list(batch)}"
        )
    if batch == wanted:
        return reshape(a, shape=shapes[0])
    apart = tuple(extent for part in batch for extent in (part, 1))
    times = tuple(extent for part, e in zip(batch, wanted, strict=True) for extent in (part, e // part))
    copies = broadcast_to(reshape(a, shape=(*apart, *a.shape[-2:])), shape=(*times, *a.shape[-2:]))
    return reshape(copies, shape=(*wanted, *a.shape[-2:]))


@composite(numerics=Numerics(autocast="half"), samples=[sample((4, 3), (2, 3)), sample((1, 2, 4, 3), (2, 4, 2, 3))])
def mul_mat(a: Value, b: Value) -> Value:
    """b @ a.T over the last two axes: y[..., j, i] is row j of b times row i of a, ggml's product.

    On each batch axis the extent of b is a multiple of that of a, and as many neighbours share one matrix of a.
    """
    if a.ndim > 1 and b.ndim > 1 and a.shape[-1] != b.shape[-1]:
        raise ShapeError(f"mul_mat: rows of {list(a.shape)} and {list(b.shape)} must be equally long")
    return matrix_product(b, transpose(_shared("mul_mat", a, b)))


@composite(numerics=Numerics(autocast="half"), samples=[sample((3, 4), (3, 2)), sample((1, 2, 3, 4), (2, 4, 3, 2))])
def out_prod(a: Value, b: Value) -> Value:
    """b.T @ a over the last two axes: the sum of the outer products of the rows of b and a, as in ggml.

    On each batch axis the extent of b is a multiple of that of a, and as many neighbours share one matrix of a.
    """
    if a.ndim > 1 and b.ndim > 1 and a.shape[-2] != b.shape[-2]:
        raise ShapeError(f"out_prod: {list(a.shape)} and {list(b.shape)} must have equally many rows")
    return matrix_product(transpose(b), _shared("out_prod", a, b))
