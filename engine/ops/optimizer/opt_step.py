"""ggml's optimizer nodes: one step of AdamW or SGD as an op that returns new values and modifies none in place."""

from __future__ import annotations

import numpy as np

from engine.core.declarations import AUTOCAST_FLOAT32, Memory
from engine.core.dtypes import FLOAT16, FLOAT32
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import primitive
from engine.core.samples import Argument, positive, sample
from engine.core.shape_rules import require_float
from engine.core.value import Array, Spec, Value


def _check(op: str, numbers: int, x: Value, others: tuple[Value, ...], params: Value) -> Spec:
    require_float(op, x)
    require_float(op, params)
    for other in others:
        require_float(op, x, other)
        if other.shape != x.shape:
            raise ShapeError(f"{op}: the parameter {list(x.shape)}, its gradient and moments must have one shape")
    if params.shape != (numbers,):
        raise ShapeError(f"{op}: params {list(params.shape)} must hold {numbers} numbers")
    return x.spec


def _wide(x: Array) -> Array:
    return x.astype(FLOAT32) if x.dtype == FLOAT16 else x


def _require(op: str, good: bool, name: str, value: float, wanted: str) -> None:
    if not good:
        raise AttributeValueError(f"{op}: {name} {value} must be {wanted}")


def _fixed(*numbers: float) -> Argument:
    return Argument((len(numbers),), lambda _, __: np.array(numbers))


def _opt_step_sgd(x: Value, grad: Value, params: Value) -> Spec:
    return _check("opt_step_sgd", 2, x, (grad,), params)


@primitive(
    shape_rule=_opt_step_sgd,
    differentiable=False,
    numerics=AUTOCAST_FLOAT32,
    samples=[sample((2, 3), (2, 3), _fixed(0.1, 0.01))],
)
def opt_step_sgd(x: Array, grad: Array, params: Array, *, out: Array | None = None) -> Array:
    """The parameter after a step of ggml's SGD: x (1 - alpha wd) - alpha grad, with params = (alpha, wd)."""
    alpha, decay = (float(number) for number in params)
    _require("opt_step_sgd", alpha > 0, "alpha", alpha, "greater than 0")
    _require("opt_step_sgd", 0 <= decay <= 1, "wd", decay, "in 0..1")
    wide, slope = _wide(x), _wide(grad)
    result = wide * wide.dtype.type(1 - alpha * decay) - slope * wide.dtype.type(alpha)
    if out is None:
        return np.asarray(result.astype(x.dtype, copy=False))
    out[...] = result
    return out


def _opt_step_adamw(x: Value, grad: Value, m: Value, v: Value, params: Value) -> tuple[Spec, Spec, Spec]:
    return (_check("opt_step_adamw", 7, x, (grad, m, v), params),) * 3


@primitive(
    shape_rule=_opt_step_adamw,
    multi_output=True,
    differentiable=False,
    numerics=AUTOCAST_FLOAT32,
    memory=Memory(moments=(2, 3)),
    samples=[sample((2, 3), (2, 3), (2, 3), positive(2, 3), _fixed(0.1, 0.9, 0.999, 1e-8, 0.01, 10.0, 1000.0))],
)
def opt_step_adamw(
    x: Array, grad: Array, m: Array, v: Array, params: Array, *, out: tuple[Array, Array, Array] | None = None
) -> tuple[Array, ...]:
    """The parameter and both moments after a step of ggml's AdamW (Loshchilov & Hutter 2019).

    params = (alpha, beta1, beta2, eps, wd, beta1h, beta2h) with beta1h = 1 / (1 - beta1^t) and beta2h = 1 / (1 -
    beta2^t) at step t = 1, 2, ...: m' = beta1 m + (1 - beta1) grad, v' = beta2 v + (1 - beta2) grad²,
    x' = x (1 - alpha wd) - alpha m' beta1h / (sqrt(v' beta2h) + eps).
    """
    op = "opt_step_adamw"
    alpha, beta1, beta2, eps, decay, beta1h, beta2h = (float(number) for number in params)
    _require(op, alpha > 0, "alpha", alpha, "greater than 0")
    for name, value in (("beta1", beta1), ("beta2", beta2), ("wd", decay)):
        _require(op, 0 <= value <= 1, name, value, "in 0..1")
    _require(op, eps >= 0, "eps", eps, "at least 0")
    wide, slope, first, second = (_wide(array) for array in (x, grad, m, v))
    number = wide.dtype.type
    first = first * number(beta1) + slope * number(1 - beta1)
    second = second * number(beta2) + slope * slope * number(1 - beta2)
    step = first * number(alpha * beta1h) / (np.sqrt(second * number(beta2h)) + number(eps))
    results = (wide * number(1 - alpha * decay) - step, first, second)
    if out is None:
        return tuple(result.astype(x.dtype, copy=False) for result in results)
    for target, result in zip(out, results, strict=True):
        target[...] = result
    return out
