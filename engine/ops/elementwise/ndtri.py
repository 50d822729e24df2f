"""Functions of probabilities: the inverse error function, normal quantiles, the log-odds and the entropy term.

erfinv and ndtri are M. J. Wichura's algorithm AS 241, "The percentage points of the normal distribution", Appl.
Statist. 37 (1988), 477-484. Relative error about 1e-16 in float64.
"""

from __future__ import annotations

import math

import numpy as np

from engine.core.batching import by_itself
from engine.core.declarations import PRECISE_FUNCTION
from engine.core.errors import AttributeValueError
from engine.core.registry import primitive
from engine.core.samples import positive, sample, uniform
from engine.core.shape_rules import same
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import where
from engine.ops.elementwise.elementwise import clamp, exp, log, square
from engine.ops.kernels.blocks import blockwise, in_float64, polynomial, stored

# Lowest power first. The quantile of 1/2 + q is q A(r)/B(r) with r = 0.180625 - q^2 for |q| <= 0.425; further out it
# is C(r - 1.6)/D(r - 1.6) for r = sqrt(-log(tail)) <= 5, and E(r - 5)/F(r - 5) beyond.
A = (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3)  # fmt: skip
B = (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
     3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3)  # fmt: skip
C = (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2,
     7.74545014278341407640e-4)  # fmt: skip
D = (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
     1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9)  # fmt: skip
E = (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5,
     2.01033439929228813265e-7)  # fmt: skip
F = (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15)  # fmt: skip
CENTRE, FAR = 0.85, 5.0
"""Where Wichura's three regions meet: |x| = 2 |q|, and r."""


def _ratio(x: Array, above: tuple[float, ...], below: tuple[float, ...]) -> Array:
    p, q = np.empty_like(x), np.empty_like(x)
    polynomial(p, x, above)
    polynomial(q, x, below)
    return np.divide(p, q, out=p)


def _erfinv(y: Array, x: Array) -> None:
    result = np.full_like(x, np.nan)
    size = np.abs(x)
    centre = size <= CENTRE
    half = x[centre] / 2
    result[centre] = half * _ratio(0.180625 - half * half, A, B)
    outer = (size > CENTRE) & (size < 1)
    if outer.any():
        root = np.sqrt(-np.log((1 - size[outer]) / 2))
        near = _ratio(root - 1.6, C, D)
        result[outer] = np.copysign(np.where(root <= FAR, near, _ratio(root - FAR, E, F)), x[outer])
    result *= math.sqrt(0.5)
    result[size == 1] = np.copysign(np.inf, x[size == 1])
    y[...] = result


@primitive(
    shape_rule=same, numerics=PRECISE_FUNCTION, samples=[sample(uniform(-0.9, 0.9, 2, 3)), sample(uniform(0.9, 0.95))]
)
def erfinv(x: Array, *, out: Array | None = None) -> Array:
    """Inverse of erf: -inf and inf at -1 and 1, NaN beyond; relative error about 1e-16 in float64."""
    return in_float64(_erfinv, x, out)


erfinv.vjp(lambda g, y, x: g * (exp(square(y)) * (math.sqrt(math.pi) / 2)))


def _ndtri(y: Array, p: Array) -> None:
    result = np.full_like(p, np.nan)
    half = p - 0.5
    centre = np.abs(half) <= CENTRE / 2
    inner = half[centre]
    result[centre] = inner * _ratio(0.180625 - inner * inner, A, B)
    tail = np.minimum(p, 1 - p)
    outer = ~centre & (tail > 0)
    if outer.any():
        root = np.sqrt(-np.log(tail[outer]))
        # The third region ends at the smallest normal number, whose root is 26.6, well within the approximation.
        size = np.where(root <= FAR, _ratio(root - 1.6, C, D), _ratio(root - FAR, E, F))
        result[outer] = np.copysign(size, half[outer])
    result[p == 0], result[p == 1] = -np.inf, np.inf
    y[...] = result


@primitive(
    shape_rule=same, numerics=PRECISE_FUNCTION, samples=[sample(uniform(0.1, 0.9, 2, 3)), sample(uniform(0.95, 0.99))]
)
def ndtri(p: Array, *, out: Array | None = None) -> Array:
    """Quantile of the normal distribution, the inverse of ndtr: -inf and inf at 0 and 1, NaN beyond.

    Relative error about 1e-16 in float64, for the smallest probabilities too.
    """
    return in_float64(_ndtri, p, out)


ndtri.vjp(lambda g, y, p: g * (exp(square(y) * 0.5) * math.sqrt(2 * math.pi)))


def _eps_in_range(x: Value, *, eps: float | None) -> Spec:
    if eps is not None and not 0 <= eps <= 0.5:
        raise AttributeValueError(f"logit: eps {eps} must be in 0..0.5")
    return x.spec


def _logit(y: Array, x: Array) -> None:
    complement = 1 - x
    # Near 1/2 the quotient is near 1, and only its distance from 1 is exact.
    near = np.abs(x - 0.5) < 0.2
    y[...] = np.where(near, np.log1p((2 * x - 1) / complement), np.log(x / complement))


@primitive(
    shape_rule=_eps_in_range,
    numerics=PRECISE_FUNCTION,
    samples=[sample(uniform(0.1, 0.9, 2, 3)), sample(uniform(-0.5, 1.5, 4), eps=0.15)],
)
def logit(x: Array, *, eps: float | None = None, out: Array | None = None) -> Array:
    """log(x / (1 - x)), the inverse of sigmoid: -inf and inf at 0 and 1, NaN beyond.

    With `eps` x is first limited to eps..1 - eps, and the gradient outside is 0.
    """
    if eps is not None:
        x = np.clip(x, eps, 1 - eps)
    return blockwise(_logit, (x,), out)


logit.batch(by_itself)


@logit.vjp
def _(g: Value, y: Value, x: Value, *, eps: float | None) -> Value:
    low, outside = (0.0, math.nan) if eps is None else (eps, 0.0)
    limited = clamp(x, min=low, max=1 - low)
    return where((x < low) | (x > 1 - low), outside, g / (limited * (1.0 - limited)))


@primitive(shape_rule=same, numerics=PRECISE_FUNCTION, samples=[sample(positive(2, 3)), sample(positive())])
def entr(x: Array, *, out: Array | None = None) -> Array:
    """-x log(x), the term of an entropy: 0 at 0 (with an infinite gradient), -inf below."""
    value = np.where(x == 0, 0, -x * np.log(np.abs(x)))
    return stored(np.where(x < 0, -np.inf, value).astype(x.dtype, copy=False), out)


entr.vjp(lambda g, y, x: -(g * (log(x) + 1.0)))
