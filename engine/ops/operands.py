"""Operands of compositions in the element types that PyTorch computes them in."""

from __future__ import annotations

import numpy as np

from engine.core.dtypes import DType, Strength, is_float, result_type, to_float
from engine.core.errors import AttributeValueError, DTypeError
from engine.core.registry import primitive
from engine.core.samples import positive, sample
from engine.core.shape_rules import same_number
from engine.core.value import Array, Value
from engine.ops.casting import cast


def common_type(*values: Value) -> DType:
    """Return the element type that an elementwise op of these values computes in (see engine.core.dtypes)."""
    strengths = ((Strength.NUMBER if v.weak else Strength.ARRAY if v.shape else Strength.SCALAR) for v in values)
    return result_type((v.dtype, strength) for v, strength in zip(values, strengths, strict=True))


def in_common_type(*values: Value, floating: bool = False) -> tuple[Value, ...]:
    """Return values in the element type of all of them, a floating one if asked for; nothing is computed in a narrower.

    Args:
        values: of any types; Python numbers stay what they are.
        floating: bring integers and truth values to float32.
    """
    dtype = common_type(*values)
    dtype = to_float(dtype) if floating else dtype
    return tuple(v if v.weak or v.dtype == dtype else cast(v, dtype=dtype) for v in values)


def factor_for(factor: float, x: Value) -> float | int:
    """Return a factor given as an attribute as what x can be multiplied by without changing its type.

    Raises:
        DTypeError: a factor that is not whole beside integers or truth values, as PyTorch refuses it.
    """
    if is_float(x.dtype):
        return factor
    if not float(factor).is_integer():
        raise DTypeError(f"a factor of {factor} makes no {x.dtype.name}; cast the inputs to float32")
    return bool(factor) if x.dtype.kind == "b" else int(factor)


@primitive(shape_rule=same_number, samples=[sample(positive(3), what="weights")])
def nonnegative(x: Array, *, what: str = "numbers", out: Array | None = None) -> Array:
    """x itself, refused where a number is negative; `what` names it in the error."""
    if x.size and x.min() < 0:
        raise AttributeValueError(f"{what} must not be negative, got {x.min()}")
    result: Array = np.positive(x, out=out)
    return result


@nonnegative.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    return g
