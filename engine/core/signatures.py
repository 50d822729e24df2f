"""Signatures of calls: what a call of an op works out from the shapes and dtypes of its inputs, kept for the next one.

A training loop calls an op with the same shapes and attributes again and again. Promotion, the shape rule and the
attributes then need no second look, nor does the form that the op's backward rule takes on arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from engine.core.errors import EngineError, name_op
from engine.core.modes import MODES
from engine.core.tape_marks import mark_results
from engine.core.value import Array, Node, Signature, Value

Key = tuple[Any, ...]
Sign = Callable[[Any, tuple[Any, ...], Mapping[str, Any]], Signature | None]

SIGNATURES_MAX = 256
"""Maximum number of signatures of an op; the next one clears them."""
EXACT_MAX = 2**53
"""Python integers below are exact in float64, so that each float type rounds them once."""


class Signed(Protocol):
    """What keeps signatures: an op."""

    signatures: dict[Key, Signature | None]


def call_signed(op: Signed, sign: Sign, operands: tuple[Any, ...], given: Mapping[str, Any]) -> Value | None:
    """Apply an op in a call that has a signature; return None, and do nothing, in one that has none.

    Calls share a signature by a key. In that a Python number counts by its type; attributes count by type and value:
    1, 1.0 and True are accepted by different ops.

    Args:
        op: the op; a new signature is added to its own.
        sign: makes the signature of a call.
        operands: values and numbers.
        given: attributes, as the call gives them.
    """
    tracked = noted = numbers = False
    parts: list[Any] = []
    arrays: list[Any] = []
    for operand in operands:
        kind = operand.__class__
        if kind is Value:
            data = operand.data
            if data is None or operand.weak or operand.inference:
                return None
            parts.append(operand.shape)
            parts.append(operand.dtype)
            arrays.append(data)
            if operand.tracked:
                tracked = True
            if operand.counter is not None:
                noted = True
        elif kind is float or (kind is int and -EXACT_MAX < operand < EXACT_MAX):
            parts.append(kind)
            numbers = True
        else:
            return None
    if given and not _append_attributes(parts, given):
        return None
    key = tuple(parts)
    signature = op.signatures.get(key) or _keep_signature(op, sign, key, operands, given)
    if signature is None:
        return None
    if numbers:
        operands = _with_values(signature, operands)
        arrays = [operand.data for operand in operands]
    return _call_known(signature, operands, arrays, tracked, noted)


def _append_attributes(parts: list[Any], given: Mapping[str, Any]) -> bool:
    """Append attributes to the parts of a key; return whether all of them can be in one."""
    for name, value in given.items():
        if not _is_plain(value):
            return False
        parts.append((name, value.__class__, value))
    return True


def _keep_signature(
    op: Signed, sign: Sign, key: Key, operands: tuple[Any, ...], given: Mapping[str, Any]
) -> Signature | None:
    """Return the signature of calls with this key, made and kept at the first of them; None if they have none."""
    if key in op.signatures:
        return None
    if len(op.signatures) >= SIGNATURES_MAX:
        op.signatures.clear()
    signature = op.signatures[key] = sign(op, operands, given)
    return signature


def _is_plain(value: object) -> bool:
    """Return whether equal attributes of the type of `value` are the same attribute, as 0.0 and -0.0 are not."""
    kind = value.__class__
    if kind is float:
        return math.isfinite(value) and value != 0  # type: ignore[arg-type]
    return value is None or kind in (int, bool, str) or isinstance(value, np.dtype) or _has_only_integers(value)


def _has_only_integers(value: Any) -> bool:
    return value.__class__ is tuple and all(item.__class__ is int or _has_only_integers(item) for item in value)


def _call_known(
    signature: Signature, inputs: tuple[Value, ...], arrays: list[Array], tracked: bool, noted: bool
) -> Value:
    """Apply an op to inputs with these arrays, some of which may be `tracked`, or `noted` to have versions."""
    op = signature.op
    try:
        made = MODES.kernels.run(signature.kernel, *arrays)
    except EngineError as error:
        name_op(error, op.name)
        raise
    if made.__class__ is not np.ndarray:
        made = np.asarray(made)
    elif not op.view and not made.flags.c_contiguous:
        made = np.asarray(made, order="C")
    if tracked and op.differentiable and MODES.recording:
        node = Node(op, inputs, signature.attrs, signature.outputs, (made,), True)
        node.signature, node.tape = signature, MODES.tape
        if noted:
            node.versions = tuple([value.version for value in inputs])
        result = Value(signature.shape, signature.dtype, made, node, 0, signature.carries_gradient)
    else:
        result = Value(signature.shape, signature.dtype, made)
    if op.view:
        mark_results(inputs, (result,), is_view=True, differentiable=op.differentiable)
    return result


def _with_values(signature: Signature, operands: tuple[Any, ...]) -> tuple[Value, ...]:
    """Return the operands with values in place of numbers."""
    return tuple(
        operand
        if operand.__class__ is Value
        else Value((), spec.dtype, MODES.kernels.run(np.array, operand, spec.dtype))
        for operand, spec in zip(operands, signature.inputs, strict=True)
    )
