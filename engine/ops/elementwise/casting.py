"""Casts, copies and barriers; the dtypes in which compositions compute, as in PyTorch."""

from __future__ import annotations

import numpy as np

from engine.core.batching import by_itself
from engine.core.declarations import Algebra, Documentation, Memory, Numerics
from engine.core.dtypes import BOOL, DType, Strength, is_float, result_type, to_float
from engine.core.errors import AttributeValueError, DTypeError
from engine.core.half_precision import convert_dtype
from engine.core.registry import composite, primitive
from engine.core.samples import integers, positive, sample
from engine.core.shape_rules import same, same_number
from engine.core.value import Array, Spec, Value


def _cast(x: Value, *, dtype: DType) -> Spec:
    return Spec(x.shape, dtype)


@primitive(
    shape_rule=_cast,
    aliases=("astype", "to"),
    numerics=Numerics(autocast="unchanged"),
    algebra=Algebra(affine=True, identity=True, keeps_elements=True, conversion=True, elementwise=True),
    samples=[sample((2, 3), dtype="float64")],
)
def cast(x: Array, *, dtype: DType, out: Array | None = None) -> Array:
    """x as another dtype; floats are truncated towards zero to integers. The gradient is cast back."""
    return convert_dtype(x, dtype, out)


cast.vjp(lambda g, y, x: cast(g, dtype=x.dtype) if is_float(x.dtype) else None)


@composite(numerics=Numerics(autocast="unchanged"), samples=[sample((2, 3), (4,)), sample((2, 3), integers(0, 9, 1))])
def type_as(x: Value, like: Value) -> Value:
    """x in the dtype of `like`, whose shape and values are not used."""
    return cast(x, dtype=like.dtype)


def _bitcast(x: Value, *, dtype: DType) -> Spec:
    if dtype.itemsize != x.dtype.itemsize:
        raise DTypeError(
            f"bitcast: elements of {x.dtype.name} have {x.dtype.itemsize} bytes, those of {dtype.name} "
            f"{dtype.itemsize}; choose a dtype of the same size"
        )
    if BOOL in (dtype, x.dtype) and dtype != x.dtype:
        raise DTypeError("bitcast: bool is 0 or 1, not any byte; use cast or a comparison")
    return Spec(x.shape, dtype)


@primitive(
    shape_rule=_bitcast,
    differentiable=False,
    numerics=Numerics(supports_bfloat16=True, autocast="unchanged"),
    documentation=Documentation(no_gradient="its result does not vary smoothly with x"),
    batching=by_itself,
    samples=[sample(integers(-9, 9, 2, 3), dtype="float64"), sample(integers(-9, 9, 4), dtype="int64")],
)
def bitcast(x: Array, *, dtype: DType, out: Array | None = None) -> Array:
    """The bits of x interpreted as another dtype of the same size; no gradient flows."""
    result = np.asarray(x, order="C").view(dtype)
    if out is None:
        return result.copy()
    np.copyto(out, result)
    return out


@primitive(
    shape_rule=same,
    aliases=("detach",),
    differentiable=False,
    memory=Memory(view="strided"),
    documentation=Documentation(no_gradient="by definition"),
    samples=[sample((2, 3))],
)
def stop_gradient(x: Array) -> Array:
    """x itself, through which no gradient flows."""
    return x


@primitive(
    shape_rule=same,
    aliases=("clone", "cont", "dup", "contiguous"),
    algebra=Algebra(affine=True),
    samples=[sample((2, 3))],
)
def copy(x: Array, *, out: Array | None = None) -> Array:
    """A copy of x that shares no memory with it."""
    if out is None:
        return x.copy()
    np.copyto(out, x)
    return out


copy.vjp(lambda g, y, x: g)


@primitive(
    shape_rule=same,
    aliases=("optimization_barrier",),
    memory=Memory(view="strided"),
    algebra=Algebra(barrier=True),
    batching=lambda call: call.again(call.spread(0), *call.inputs[1:]),
    samples=[sample((2, 3)), sample((2, 3), (4,))],
)
def barrier(x: Array, after: Array | None = None) -> Array:
    """x itself, available only once `after` has been computed.

    Operations on the result are not merged with equal operations on x, so that a value is computed a second time
    (rematerialization), as with jax.lax.optimization_barrier.
    """
    return x


barrier.vjp(lambda g, y, x, after=None: (g,) if after is None else (g, None))


def common_type(*values: Value) -> DType:
    """Return the element type that an elementwise op of these values computes in (see engine.core.dtypes)."""
    strengths = ((Strength.NUMBER if v.weak else Strength.ARRAY if v.shape else Strength.SCALAR) for v in values)
    return result_type((v.dtype, strength) for v, strength in zip(values, strengths, strict=True))


def in_common_type(*values: Value, floating: bool = False) -> tuple[Value, ...]:
    """Return values in their common element type, or a floating one; none is narrowed.

    Args:
        values: of any dtypes; Python numbers stay weakly typed.
        floating: bring integers and truth values to float32.
    """
    dtype = common_type(*values)
    dtype = to_float(dtype) if floating else dtype
    return tuple(v if v.weak or v.dtype == dtype else cast(v, dtype=dtype) for v in values)


def factor_for(factor: float, x: Value) -> float | int:
    """Return the factor of an attribute as a number that x can be multiplied by without changing its dtype.

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
    """x itself; a negative element is an error, in which `what` names x."""
    if x.size and x.min() < 0:
        raise AttributeValueError(f"{what} must not be negative, got {x.min()}")
    result: Array = np.positive(x, out=out)
    return result


nonnegative.vjp(lambda g, y, x: g)
