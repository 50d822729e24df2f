"""Leaves of static graphs: shape and type without data, named, some of them parameters."""

from __future__ import annotations

from collections.abc import Sequence

from engine.core.dtypes import dtype_of, is_float
from engine.core.errors import AttributeValueError, DTypeError, GraphError, ShapeError
from engine.core.value import Value
from engine.graph.tensors import is_extent

NAME_BYTES = 63
"""Bytes that a name given by a caller may have (ggml's GGML_MAX_NAME is 64, with the closing zero)."""


def declare(
    shape: int | Sequence[int] = (),
    dtype: object = "float32",
    name: str | None = None,
    *,
    requires_grad: bool = False,
) -> Value:
    """Make a leaf without data: operations on it compute nothing, they only infer shapes.

    Args:
        shape: its extents in NumPy's order, the last one varying fastest.
        dtype: its element type.
        name: what it is called in the graphs it joins, at most 63 bytes.
        requires_grad: whether it is a parameter (ggml_set_param).

    Raises:
        ShapeError: extents that are no numbers >= 0.
        DTypeError: an unknown type, or a parameter that is not floating.
        AttributeValueError: a name that is empty or too long.
    """
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(is_extent(extent) for extent in extents):
        raise ShapeError(f"shape {list(extents)}: an extent is a number >= 0")
    if name is not None:
        check_name(name)
    leaf = Value(extents, dtype_of(dtype), None, name=name)
    return set_param(leaf) if requires_grad else leaf


def set_param(leaf: Value) -> Value:
    """Mark a leaf as a parameter and return it; nothing is allocated. Mark before expanding (ggml_set_param)."""
    if leaf.node is not None:
        raise GraphError(f"only leaves can be parameters; this is the result of {leaf.node.op.name}")
    if not is_float(leaf.dtype):
        raise DTypeError(f"only floating tensors can be parameters; {leaf.name or 'this one'} is {leaf.dtype.name}")
    leaf.requires_grad = True
    return leaf


def check_name(name: str) -> str:
    """Return `name`, or refuse one that is empty or longer than 63 bytes."""
    if not 0 < len(name.encode(errors="replace")) <= NAME_BYTES:
        raise AttributeValueError(f"name {name[:NAME_BYTES]!r} must have 1 to {NAME_BYTES} bytes; shorten it")
    return name
