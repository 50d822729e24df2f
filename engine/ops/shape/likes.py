"""Values as large as another one, whose extents need not be known: a graph's batch has as many rows as there are."""

from __future__ import annotations

from engine.core.declarations import CallForms, Documentation, Numerics
from engine.core.dtypes import DType
from engine.core.registry import composite
from engine.core.samples import integers, sample
from engine.core.value import Value
from engine.ops.shape.creation import full
from engine.ops.shape.shape import broadcast_to

UNCHANGED = Numerics(autocast="unchanged")
OF_SHAPE = Documentation(no_gradient="it depends on the shape of x alone")


@composite(
    numerics=UNCHANGED,
    differentiable=False,
    documentation=OF_SHAPE,
    samples=[sample((2, 3)), sample(integers(0, 9, 2)), sample((2, 3), value=2, dtype="int64")],
)
def full_like(x: Value, *, value: bool | int | float = 0, dtype: DType | None = None) -> Value:
    """`value` everywhere in the shape of x, in its dtype unless another is given."""
    return full(shape=x.shape, value=value, dtype=dtype or x.dtype)


@composite(
    numerics=UNCHANGED,
    differentiable=False,
    documentation=OF_SHAPE,
    samples=[sample((2, 3)), sample((3,), dtype="bool")],
)
def zeros_like(x: Value, *, dtype: DType | None = None) -> Value:
    """Zeros in the shape of x, in its dtype unless another is given."""
    return full(shape=x.shape, value=0, dtype=dtype or x.dtype)


@composite(
    numerics=UNCHANGED,
    differentiable=False,
    documentation=OF_SHAPE,
    samples=[sample((2, 3)), sample(integers(0, 9, 2), dtype="float64")],
)
def ones_like(x: Value, *, dtype: DType | None = None) -> Value:
    """Ones in the shape of x, in its dtype unless another is given."""
    return full(shape=x.shape, value=1, dtype=dtype or x.dtype)


@composite(
    call=CallForms(by_place=()), numerics=UNCHANGED, samples=[sample((3,), (2, 3)), sample((2, 1, 3), (2, 4, 3))]
)
def expand_as(x: Value, other: Value) -> Value:
    """x broadcast to the shape of `other`, without a copy: a class token for each example, an initial state."""
    return broadcast_to(x, shape=other.shape)
