"""Signatures of calls: what a call of an op works out from the shapes and dtypes of its inputs, kept for the next one.

A training loop calls an op with the same shapes and attributes again and again. Promotion, the shape rule and the
attributes then need no second look, nor does the form that the op's backward rule takes on arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.core.errors import EngineError, name_op
from engine.core.modes import MODES
from engine.core.tape_marks import mark_results
from engine.core.value import Array, Node, Signature, Value

Key = tuple[Any, ...]

SIGNATURES_MAX = 256
"""Maximum number of signatures of an op; the next one clears them."""
EXACT_MAX = 2**53
"""Python integers below are exact in float64, so that each float type rounds them once."""


def call_key(operands: tuple[Any, ...], given: Mapping[str, Any]) -> Key | None:
    """Return a key that calls of one kind share; None for a call that has no signature.

    A Python number counts by its type. Attributes count by type and value: 1, 1.0 and True are accepted by different
    ops.
    """
    key: list[Any] = []
    for operand in operands:
        kind = operand.__class__
        if kind is Value:
            if operand.weak or operand.inference or operand.data is None:
                return None
            key += operand.shape, operand.dtype
        elif kind is float or (kind is int and -EXACT_MAX < operand < EXACT_MAX):
            key.append(kind)
        else:
            return None
    for name, value in given.items():
        if not _is_plain(value):
            return None
        key.append((name, value.__class__, value))
    return tuple(key)


def _is_plain(value: object) -> bool:
    """Return whether equal attributes of the type of `value` are the same attribute, as 0.0 and -0.0 are not."""
    kind = value.__class__
    if kind is float:
        return math.isfinite(value) and value != 0  # type: ignore[arg-type]
    return value is None or kind in (int, bool, str) or isinstance(value, np.dtype) or _has_only_integers(value)


def _has_only_integers(value: Any) -> bool:
    return value.__class__ is tuple and all(item.__class__ is int or _has_only_integers(item) for item in value)


def call_known(signature: Signature, operands: tuple[Any, ...]) -> Value:
    """Apply an op in a call of this signature."""
    tracked = noted = False
    arrays: list[Any] = []
    for operand in operands:
        if operand.__class__ is not Value:
            return call_known(signature, _with_values(signature, operands))
        if operand.tracked:
            tracked = True
        if operand.counter is not None:
            noted = True
        arrays.append(operand.data)
    op = signature.op
    try:
        made = MODES.kernels.run(op.body, *arrays, **signature.attrs)
    except EngineError as error:
        name_op(error, op.name)
        raise
    if made.__class__ is not np.ndarray:
        made = np.asarray(made)
    elif not op.view and not made.flags.c_contiguous:
        made = np.asarray(made, order="C")
    node = _record(signature, operands, made, noted) if tracked and op.differentiable and MODES.recording else None
    result = Value(signature.shape, signature.dtype, made, node, 0, node is not None and signature.carries_gradient)
    if op.view:
        mark_results(operands, (result,), is_view=True, differentiable=op.differentiable)
    return result


def _record(signature: Signature, inputs: tuple[Value, ...], made: Array, noted: bool) -> Node:
    """Return the node of a call on the tape; with the versions of its inputs if one of them was `noted` to have any."""
    node = Node(signature.op, inputs, signature.attrs, signature.outputs, (made,), needs_grad=True)
    node.signature = signature
    node.tape = MODES.tape
    if noted:
        node.versions = tuple([value.version for value in inputs])
    return node


def _with_values(signature: Signature, operands: tuple[Any, ...]) -> tuple[Value, ...]:
    """Return the operands with values in place of numbers."""
    return tuple(
        operand
        if operand.__class__ is Value
        else Value((), spec.dtype, MODES.kernels.run(np.array, operand, spec.dtype))
        for operand, spec in zip(operands, signature.inputs, strict=True)
    )
