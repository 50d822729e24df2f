"""The dtype that the inputs of a call have in common, as PyTorch promotes them, and their conversion to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.core.declared_op import DeclaredOp
from engine.core.dtypes import FLOAT32, DType, Strength, computing_dtype, is_float, result_type, to_float
from engine.core.modes import MODES
from engine.core.value import Value

Cast = Callable[..., Any]
"""The op that converts a value to a dtype."""


def promote(op: DeclaredOp, inputs: tuple[Value, ...], cast: Cast) -> tuple[Value, ...]:
    """Return the inputs of an op with those that it promotes in their common dtype."""
    rest = inputs[op.promote_from :]
    dtype: DType | None = None  # of all but Python numbers, if it is one
    weak = False
    for value in rest:
        if value.weak:
            weak = True
        elif dtype is None:
            dtype = value.dtype
        elif value.dtype is not dtype:
            dtype = None
            break
    if dtype is not None and not weak and (op.promotion == "common" or is_float(dtype)):
        return inputs
    if dtype is None or not is_float(dtype):  # a number beside a floating type never changes it
        dtype = result_type((v.dtype, _strength(v)) for v in rest)
        if op.promotion == "float":
            dtype = to_float(dtype)
    return inputs[: op.promote_from] + tuple([_as_dtype(v, dtype, cast) for v in rest])


def promote_numbers(op: DeclaredOp, operands: tuple[Any, ...]) -> tuple[Value, ...] | None:
    """Return the inputs without data, numbers in the dtype of the values beside them; None if more is to be done."""
    if not op.required_inputs <= len(operands) or (len(operands) > len(op.inputs) and not op.variadic):
        return None
    dtypes = {operand.dtype for operand in operands[op.promote_from :] if isinstance(operand, Value)}
    has_numbers = any(not isinstance(operand, Value) for operand in operands)
    # Whether a number is an attribute may depend on the number where calls have several forms.
    if has_numbers and (op.promotion == "none" or op.promote_from or op.call.orders):
        return None
    if op.promotion != "none" and len(dtypes) != 1:
        return None
    if (has_numbers or op.promotion == "float") and not all(map(is_float, dtypes)):
        return None
    dtype = next(iter(dtypes), FLOAT32)
    return tuple(
        Value(operand.shape, operand.dtype, None) if isinstance(operand, Value) else Value((), dtype, None)
        for operand in operands
    )


def compose_in_float32(op: DeclaredOp, inputs: tuple[Value, ...], attrs: dict[str, Any], cast: Cast) -> Any:
    """Run a composition in float32 where its floating inputs (some may be None) are of one half type."""
    floats = [v.dtype for v in inputs if v is not None and is_float(v.dtype) and not v.weak]
    if not floats or floats[0] == computing_dtype(floats[0]) or any(dtype != floats[0] for dtype in floats):
        return op.body(*inputs, **attrs)
    half = floats[0]
    ends: dict[object, Value | None] = {}
    for v in inputs:
        if v is not None and v.key not in ends:
            ends[v.key] = cast(v, dtype=FLOAT32) if v.dtype == half else v
    result: Any = op.body(*(None if v is None else ends[v.key] for v in inputs), **attrs)
    results = [
        cast(v, dtype=half) if v.dtype == FLOAT32 else v for v in (result if isinstance(result, tuple) else (result,))
    ]
    return tuple(results) if isinstance(result, tuple) else results[0]


def _strength(value: Value) -> Strength:
    if value.weak:
        return Strength.NUMBER
    return Strength.ARRAY if value.shape else Strength.SCALAR


def _as_dtype(value: Value, dtype: DType, cast: Cast) -> Value:
    if value.weak:
        assert value.data is not None
        return Value((), dtype, MODES.kernels.run(value.data.astype, dtype))
    return value if value.dtype is dtype or value.dtype == dtype else cast(value, dtype=dtype)
