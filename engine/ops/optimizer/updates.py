"""Whole steps of optimizers as single ops, which read and write every element once.

Each takes vectors of one shape and floating dtype and scalars, which it rounds to that dtype, and returns the parameter
and the optimizer's state, in the order of the inputs; results may be written over these. float16 is computed in
float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from engine.core.declarations import AUTOCAST_FLOAT32, PRECISE_COMPOSITION, Documentation, Memory
from engine.core.dtypes import FLOAT16, FLOAT32, FLOAT64, DType, computing_dtype
from engine.core.errors import ShapeError
from engine.core.registry import primitive
from engine.core.samples import Argument, positive, sample, uniform
from engine.core.shape_rules import require_float, require_integer
from engine.core.sharding_rules import ELEMENTWISE
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.elementwise import power, sqrt, square
from engine.ops.kernels.blocks import WORKSPACE

Number = float | Value
"""A number, or a scalar Value."""

BLOCK = 16384
"""Elements that go through all passes of a step at a time: their vectors fit in the second-level cache."""


def check_step(op: str, vectors: Sequence[Value], numbers: Sequence[Value]) -> Spec:
    """Return the spec of the parameter, the second of the vectors; all of these must have one shape."""
    require_float(op, *vectors)
    for vector in vectors:
        if vector.shape != vectors[0].shape:
            raise ShapeError(
                f"{op}: the gradient {list(vectors[0].shape)}, the parameter and what is kept beside it must have one "
                f"shape, got {list(vector.shape)}"
            )
    for number in numbers:
        require_float(op, number)
        _require_number(op, number)
    return vectors[1].spec


def _require_number(op: str, number: Value) -> None:
    if number.shape:
        raise ShapeError(
            f"{op}: momentum, rates and the count of steps are numbers without axes, not {list(number.shape)}"
        )


def _by_blocks(
    kernel: Callable[..., None], vectors: Sequence[Array], kept: int, out: tuple[Array, ...] | None, scratch: int
) -> tuple[Array, ...]:
    """Run `kernel(*outs, *vectors, *scratch)` over blocks; `kept` of the vectors, from the second on, have an out."""
    like = vectors[1]
    if like.dtype == FLOAT16:
        wide = _by_blocks(kernel, [vector.astype(FLOAT32) for vector in vectors], kept, None, scratch)
        return stored([result.astype(FLOAT16) for result in wide], out)
    direct = out is not None and all(target.flags.c_contiguous for target in out)
    outs = out if out is not None and direct else tuple(np.empty(like.shape, like.dtype) for _ in range(kept))
    flat = [array if array.ndim == 1 else array.reshape(-1) for array in (*outs, *vectors)]
    if like.size <= BLOCK:
        kernel(*flat, *[np.empty(like.size, like.dtype) for _ in range(scratch)])
    else:
        with WORKSPACE:
            spaces = [WORKSPACE.array((BLOCK,), like.dtype) for _ in range(scratch)]
            for start in range(0, like.size, BLOCK):
                pieces = [array[start : start + BLOCK] for array in flat]
                kernel(*pieces, *[space[: pieces[0].size] for space in spaces])
    return outs if direct else stored(outs, out)


def stored(results: Sequence[Array], out: tuple[Array, ...] | None) -> tuple[Array, ...]:
    """Return results, copied into `out` where that is given."""
    if out is None:
        return tuple(results)
    for target, result in zip(out, results, strict=True):
        np.copyto(target, result)
    return out


def rounded(like: Array, *numbers: float) -> list[Array]:
    """Return numbers as scalar arrays in the dtype that a vector is computed in."""
    together = np.array(numbers).astype(FLOAT32 if like.dtype == FLOAT16 else like.dtype)
    return [together[place, ...] for place in range(len(numbers))]


def _wide(number: Array) -> np.float64:
    return np.float64(number)


def _counts(*numbers: int) -> Argument:
    return Argument((), lambda _, __: np.array(numbers[0]))


def _adam_rates(step: Value, lr: Value, beta1: Value, *, beta2: float) -> tuple[Spec, Spec]:
    op = "adam_rates"
    require_integer(op, "counts of steps", step)
    for number in (lr, beta1):
        require_float(op, number)
    for number in (step, lr, beta1):
        _require_number(op, number)
    return Spec((), FLOAT64), Spec((), FLOAT64)


@primitive(
    shape_rule=_adam_rates,
    multi_output=True,
    numerics=AUTOCAST_FLOAT32,
    documentation=Documentation(outputs=("rate", "scale")),
    samples=[sample(_counts(3), positive(), uniform(0.5, 0.9)), sample(_counts(1), positive(), uniform(0.1, 0.2))],
)
def adam_rates(
    step: Array, lr: Array, beta1: Array, *, beta2: float = 0.999, out: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """The bias corrections of Adam at step t = 1, 2, ...: lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t).

    The count t is an integer; rate and scale are the float64 numbers that `adam_update` takes (Kingma and Ba 2015,
    section 3).
    """
    count = _wide(step)
    rate = _wide(lr) / (1.0 - _wide(beta1) ** count)
    scale = 1.0 / np.sqrt(1.0 - np.float64(beta2) ** count)
    return stored([np.asarray(rate), np.asarray(scale)], out)  # type: ignore[return-value]


@adam_rates.vjp_through
def _(step: Value, lr: Value, beta1: Value, *, beta2: float) -> tuple[Value, Value]:
    count, lr, beta1 = (cast(x, dtype=FLOAT64) for x in (step, lr, beta1))
    return bias_correction(count, lr, beta1, beta2)


def bias_correction(count: Value, lr: Value, beta1: Number, beta2: float) -> tuple[Value, Value]:
    """Return the rate and the scale of `adam_rates` in elementwise ops; `count` is a float64 scalar."""
    return lr / (1.0 - power(beta1, count)), 1.0 / sqrt(1.0 - power(beta2, count))


def running_mean(mean: Value, value: Value, decay: Number) -> Value:
    """Return an exponential moving average after one more value, in elementwise ops."""
    return mean * decay + value * (1.0 - decay)


def adam_direction(moment1: Value, moment2: Value, scale: Value, eps: float) -> Value:
    """Return the first moment over the root of the second, in elementwise ops; `scale` is that of `adam_rates`."""
    return moment1 / (sqrt(moment2) * scale + eps)


def _adam_update(
    gradient: Value,
    parameter: Value,
    moment1: Value,
    moment2: Value,
    beta1: Value,
    lr: Value,
    rate: Value,
    scale: Value,
    **_: object,
) -> tuple[Spec, Spec, Spec]:
    return (check_step("adam_update", (gradient, parameter, moment1, moment2), (beta1, lr, rate, scale)),) * 3


VECTORS = ((3, 2), (3, 2), (3, 2), positive(3, 2))
NUMBERS = (uniform(0.5, 0.9), uniform(0.1, 0.2), uniform(0.2, 0.3), positive())


@primitive(
    shape_rule=_adam_update,
    multi_output=True,
    numerics=PRECISE_COMPOSITION,
    memory=Memory(inplace={0: 1, 1: 2, 2: 3}),
    documentation=Documentation(outputs=("parameter", "moment1", "moment2")),
    sharding=ELEMENTWISE,
    samples=[
        sample(*VECTORS, *NUMBERS, beta2=0.8),
        sample(*VECTORS, *NUMBERS, beta2=0.9, weight_decay=0.3),
        sample(*VECTORS, *NUMBERS, beta2=0.9, weight_decay=0.3, decoupled=True),
    ],
)
def adam_update(
    gradient: Array,
    parameter: Array,
    moment1: Array,
    moment2: Array,
    beta1: Array,
    lr: Array,
    rate: Array,
    scale: Array,
    *,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, ...]:
    """One step of Adam (Kingma and Ba 2015) or AdamW (Loshchilov and Hutter 2019): parameter and moments after it.

    With p, m, v the parameter and its moments, and the rate and scale of `adam_rates`, in this order:
    g = gradient + p weight_decay (only with a decay that is not `decoupled`); m' = m beta1 + g (1 - beta1);
    v' = v beta2 + g g (1 - beta2); p = p (1 - lr weight_decay) (only with a decay that is);
    p' = p - (m' / (sqrt(v') scale + eps)) rate. Numbers are computed in float64 before they are rounded.
    """
    first, rest = float(beta1), 1.0 - float(lr) * weight_decay
    keep1, fresh1, keep2, fresh2, factor, root, tiny, decay, shrink = rounded(
        parameter, first, 1.0 - first, beta2, 1.0 - beta2, float(rate), float(scale), eps, weight_decay, rest
    )

    def step(p_: Array, m_: Array, v_: Array, g: Array, p: Array, m: Array, v: Array, t: Array, u: Array) -> None:
        if weight_decay and not decoupled:
            np.multiply(p, decay, out=u)
            np.add(g, u, out=u)
            g = u
        np.multiply(g, fresh1, out=t)
        np.multiply(m, keep1, out=m_)
        np.add(m_, t, out=m_)
        np.multiply(g, g, out=t)
        np.multiply(t, fresh2, out=t)
        np.multiply(v, keep2, out=v_)
        np.add(v_, t, out=v_)
        np.sqrt(v_, out=t)
        np.multiply(t, root, out=t)
        np.add(t, tiny, out=t)
        np.divide(m_, t, out=t)
        np.multiply(t, factor, out=t)
        if weight_decay and decoupled:
            np.multiply(p, shrink, out=p_)
            p = p_
        np.subtract(p, t, out=p_)

    return _by_blocks(step, (gradient, parameter, moment1, moment2), 3, out, scratch=2)


@adam_update.vjp_through
def _(
    gradient: Value,
    parameter: Value,
    moment1: Value,
    moment2: Value,
    beta1: Value,
    lr: Value,
    rate: Value,
    scale: Value,
    *,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
) -> tuple[Value, Value, Value]:
    narrow = parameter.dtype
    gradient, parameter, moment1, moment2, beta1, lr = at_width(
        narrow, gradient, parameter, moment1, moment2, beta1, lr
    )
    gradient, parameter = _decayed(gradient, parameter, lr, weight_decay, decoupled)
    moment1 = running_mean(moment1, gradient, beta1)
    moment2 = running_mean(moment2, square(gradient), beta2)
    stepped = parameter - adam_direction(moment1, moment2, scale, eps) * rate
    return cast(stepped, dtype=narrow), cast(moment1, dtype=narrow), cast(moment2, dtype=narrow)


def at_width(narrow: DType, *values: Value) -> tuple[Value, ...]:
    """Return values of a half type in the dtype in which they are computed."""
    wide = computing_dtype(narrow)
    return tuple(cast(x, dtype=wide) if wide != narrow and x.dtype == narrow else x for x in values)


def _decayed(gradient: Value, parameter: Value, lr: Value, weight_decay: float, decoupled: bool) -> tuple[Value, Value]:
    """Return gradient and parameter after a weight decay, in ops."""
    if not weight_decay:
        return gradient, parameter
    if decoupled:
        return gradient, parameter * cast(1.0 - lr * weight_decay, dtype=parameter.dtype)
    return gradient + parameter * weight_decay, parameter


def _sgd_update(gradient: Value, parameter: Value, lr: Value, **_: object) -> Spec:
    return check_step("sgd_update", (gradient, parameter), (lr,))


@primitive(
    shape_rule=_sgd_update,
    numerics=PRECISE_COMPOSITION,
    memory=Memory(inplace={0: 1}),
    sharding=ELEMENTWISE,
    samples=[
        sample((3, 2), (3, 2), uniform(0.1, 0.2)),
        sample((3, 2), (3, 2), uniform(0.1, 0.2), weight_decay=0.3),
        sample((3, 2), (3, 2), uniform(0.1, 0.2), weight_decay=0.3, decoupled=True),
    ],
)
def sgd_update(
    gradient: Array,
    parameter: Array,
    lr: Array,
    *,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    out: Array | None = None,
) -> Array:
    """One step of gradient descent without momentum: the parameter p after it.

    In this order: g = gradient + p weight_decay (only with a decay that is not `decoupled`); p = p (1 - lr
    weight_decay) (only with a decay that is); p' = p - g lr. Numbers are computed in float64 before they are rounded.
    """
    rest = 1.0 - float(lr) * weight_decay
    rate, decay, shrink = rounded(parameter, float(lr), weight_decay, rest)

    def step(p_: Array, g: Array, p: Array, t: Array) -> None:
        if weight_decay and not decoupled:
            np.multiply(p, decay, out=t)
            np.add(g, t, out=t)
            g = t
        np.multiply(g, rate, out=t)
        if weight_decay and decoupled:
            np.multiply(p, shrink, out=p_)
            p = p_
        np.subtract(p, t, out=p_)

    return _by_blocks(step, (gradient, parameter), 1, None if out is None else (out,), scratch=1)[0]


@sgd_update.vjp_through
def _(gradient: Value, parameter: Value, lr: Value, *, weight_decay: float, decoupled: bool) -> Value:
    narrow = parameter.dtype
    gradient, parameter, lr = at_width(narrow, gradient, parameter, lr)
    gradient, parameter = _decayed(gradient, parameter, lr, weight_decay, decoupled)
    return cast(parameter - gradient * cast(lr, dtype=parameter.dtype), dtype=narrow)


def _momentum_update(
    gradient: Value, parameter: Value, buffer: Value, momentum: Value, share: Value, lr: Value, **_: object
) -> tuple[Spec, Spec]:
    return (check_step("momentum_update", (gradient, parameter, buffer), (momentum, share, lr)),) * 2


RATES = (uniform(0.5, 0.9), uniform(0.3, 0.8), uniform(0.1, 0.2))


@primitive(
    shape_rule=_momentum_update,
    multi_output=True,
    numerics=PRECISE_COMPOSITION,
    memory=Memory(inplace={0: 1, 1: 2}),
    documentation=Documentation(outputs=("parameter", "momentum")),
    sharding=ELEMENTWISE,
    samples=[
        sample((3, 2), (3, 2), (3, 2), *RATES),
        sample((3, 2), (3, 2), (3, 2), *RATES, weight_decay=0.3, nesterov=True),
        sample((3, 2), (3, 2), (3, 2), *RATES, weight_decay=0.3, decoupled=True),
    ],
)
def momentum_update(
    gradient: Array,
    parameter: Array,
    buffer: Array,
    momentum: Array,
    share: Array,
    lr: Array,
    *,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, ...]:
    """One step of gradient descent with momentum (Polyak 1964): the parameter p and the buffer b after it.

    `share` is the factor of the gradient in the buffer: 1, or 1 - dampening after the first step. In this order: g =
    gradient + p weight_decay (only with a decay that is not `decoupled`); b' = b momentum + g share; d = g + b'
    momentum with `nesterov`, else b'; p = p (1 - lr weight_decay) (only with a decay that is); p' = p - d lr. Numbers
    are computed in float64 before they are rounded.
    """
    rest = 1.0 - float(lr) * weight_decay
    keep, fresh, rate, decay, shrink = rounded(parameter, float(momentum), float(share), float(lr), weight_decay, rest)
    whole = bool(share == 1)

    def step(p_: Array, b_: Array, g: Array, p: Array, b: Array, t: Array, u: Array) -> None:
        if weight_decay and not decoupled:
            np.multiply(p, decay, out=u)
            np.add(g, u, out=u)
            g = u
        np.multiply(b, keep, out=b_)
        np.add(b_, g if whole else np.multiply(g, fresh, out=t), out=b_)
        if nesterov:
            np.multiply(b_, keep, out=t)
            np.add(g, t, out=t)
        np.multiply(t if nesterov else b_, rate, out=t)
        if weight_decay and decoupled:
            np.multiply(p, shrink, out=p_)
            p = p_
        np.subtract(p, t, out=p_)

    return _by_blocks(step, (gradient, parameter, buffer), 2, out, scratch=2)


@momentum_update.vjp_through
def _(
    gradient: Value,
    parameter: Value,
    buffer: Value,
    momentum: Value,
    share: Value,
    lr: Value,
    *,
    nesterov: bool,
    weight_decay: float,
    decoupled: bool,
) -> tuple[Value, Value]:
    narrow = parameter.dtype
    gradient, parameter, buffer, lr = at_width(narrow, gradient, parameter, buffer, lr)
    gradient, parameter = _decayed(gradient, parameter, lr, weight_decay, decoupled)
    momentum, share, rate = (cast(x, dtype=parameter.dtype) for x in (momentum, share, lr))
    buffer = buffer * momentum + gradient * share
    direction = gradient + buffer * momentum if nesterov else buffer
    return cast(parameter - direction * rate, dtype=narrow), cast(buffer, dtype=narrow)
