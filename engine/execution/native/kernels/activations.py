"""Activations with attributes, elementwise: gelu in its forms and its gradient, rectifiers, softplus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from engine.execution.native.inline.arithmetic import exp, sigmoid
from engine.execution.native.inline.error_function import normal_share
from engine.execution.native.inline.logarithm import expm1, log1p
from engine.execution.native.inline.pointers import float_of, frozen, view
from engine.execution.native.kernel import Kernel, inline, itemsize, real
from engine.execution.native.kernels.elementwise import FIRST, OUT, SECOND, apply, binary, elementwise_calls, unary
from engine.execution.native.lowering import Call, Work, lowers
from engine.ops.activation.gated import CUBIC, DENSITY_AT_0, QUICK, SATURATED, TAIL, TAIL_SCALE, TWICE_ROOT

PARAMETERS, LIMITS = 14, 19
"""Where the words of a kernel with one operand, and with two, have two numbers more."""


def with_parameters(a: Any) -> None:
    """Apply a function of one number and of two that are the same for all."""
    rows, n, p, q = a[2], a[3], number(a[PARAMETERS]), number(a[PARAMETERS + 1])
    out_step, x_step, out_apart, x_apart = a[OUT + 3], a[FIRST + 3], a[OUT + 4], a[FIRST + 4]
    for i in range(a[0]):
        for j in range(a[1]):
            out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2]
            x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2]
            for _ in range(rows):
                if out_apart == itemsize and x_apart == itemsize:
                    xs, ys = view(x, n, real), view(out, n, real)
                    if x == out:
                        # In place; two views of one place would not be vectorised.
                        for e in range(ys.size):
                            ys[e] = apply(frozen(ys[e]), p, q)
                    else:
                        for e in range(xs.size):
                            ys[e] = apply(xs[e], p, q)
                else:
                    for e in range(n):
                        view(out + e * out_apart, 1, real)[0] = apply(view(x + e * x_apart, 1, real)[0], p, q)
                out, x = out + out_step, x + x_step


def two_with_parameters(a: Any) -> None:
    """Apply a function of two numbers and of two that are the same for all."""
    rows, n, p, q = a[2], a[3], number(a[LIMITS]), number(a[LIMITS + 1])
    out_step, x_step, y_step = a[OUT + 3], a[FIRST + 3], a[SECOND + 3]
    out_apart, x_apart, y_apart = a[OUT + 4], a[FIRST + 4], a[SECOND + 4]
    for i in range(a[0]):
        for j in range(a[1]):
            out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2]
            x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2]
            y = a[SECOND] + i * a[SECOND + 1] + j * a[SECOND + 2]
            for _ in range(rows):
                if out_apart == itemsize and x_apart == itemsize and y_apart == itemsize:
                    xs, ys, zs = view(x, n, real), view(y, n, real), view(out, n, real)
                    if x == out:  # loops of their own, as above
                        for e in range(zs.size):
                            zs[e] = apply(frozen(zs[e]), ys[e], p, q)
                    elif y == out:
                        for e in range(zs.size):
                            zs[e] = apply(xs[e], frozen(zs[e]), p, q)
                    else:
                        for e in range(zs.size):
                            zs[e] = apply(xs[e], ys[e], p, q)
                else:
                    for e in range(n):
                        first, second = view(x + e * x_apart, 1, real)[0], view(y + e * y_apart, 1, real)[0]
                        view(out + e * out_apart, 1, real)[0] = apply(first, second, p, q)
                out, x, y = out + out_step, x + x_step, y + y_step


def number(*_: Any) -> Any:
    """Stand for the number of a word, in the type that a function computes in."""
    raise NotImplementedError


def of_two_numbers(name: str, function: Callable[..., Any], body: Callable[[Any], None] = with_parameters) -> Kernel:
    """Return the kernel that applies a function of operands and of two numbers that are the same for all."""
    return Kernel(body, name=name, parts={"apply": function, "number": lambda word: real(float_of(word))})


# -- gelu, each form by the formula of the op's own kernel ------------------------------------------------------------

SATURATED_TANH, SATURATED_QUICK = SATURATED["tanh"], SATURATED["quick"]
C0, C1, C2, C3, C4, C5 = TAIL


@inline
def normal_tail(size: Any, density: Any, real: Any) -> Any:
    """Return P(X > size), for float32 only, given exp(-size^2/2)."""
    t = real(1) / (real(1) + real(TAIL_SCALE) * size)
    p = real(C5)
    p = p * t + real(C4)
    p = p * t + real(C3)
    p = p * t + real(C2)
    p = p * t + real(C1)
    p = p * t + real(C0)
    return p * t * density


def _gelu(x: Any) -> Any:
    if itemsize == 8:
        return x * normal_share(x)
    # From 40 on the tail is 0; the comparison leaves NaN what it is.
    size = real(40) if abs(x) > real(40) else abs(x)
    tail = normal_tail(size, exp(size * size * real(-0.5)), real)
    return (real(0) if x <= real(0) else x) - tail * size


def _gelu_backward(g: Any, x: Any) -> Any:
    if itemsize == 8:
        return g * (normal_share(x) + exp(x * x * real(-0.5)) * (x * real(DENSITY_AT_0)))
    size = real(40) if abs(x) > real(40) else abs(x)
    density = exp(size * size * real(-0.5))
    half = real(0.5) - (normal_tail(size, density, real) - density * real(DENSITY_AT_0) * size)
    return g * (real(0.5) + (-half if x < real(0) else half))


@inline
def gated_slope(g: Any, x: Any, exponent: Any, slope: Any, real: Any) -> Any:
    """Return g times the derivative of x sigmoid(p(x)), given p and its derivative."""
    s = sigmoid(exponent)
    return g * (s * (real(1) + (real(1) - s) * slope * x))


@inline
def limited(x: Any, most: Any, real: Any) -> Any:
    """Return x limited to -most..most; NaN stays NaN."""
    x = real(most) if x > real(most) else x
    return real(-most) if x < real(-most) else x


def _tanh_gelu_backward(g: Any, x: Any) -> Any:
    x = limited(x, SATURATED_TANH, real)
    squared = x * x
    exponent = (squared * real(CUBIC * TWICE_ROOT) + real(TWICE_ROOT)) * x
    return gated_slope(g, x, exponent, squared * real(3 * CUBIC * TWICE_ROOT) + real(TWICE_ROOT), real)


def _quick_gelu_backward(g: Any, x: Any) -> Any:
    x = limited(x, SATURATED_QUICK, real)
    return gated_slope(g, x, x * real(QUICK), real(QUICK), real)


GELU: Mapping[str, Kernel] = {
    "none": Kernel(unary, name="gelu", parts={"apply": _gelu}),
    "tanh": Kernel(
        unary,
        name="gelu_tanh",
        parts={"apply": lambda x: x * sigmoid((x * x * real(CUBIC * TWICE_ROOT) + real(TWICE_ROOT)) * x)},
    ),
    "quick": Kernel(unary, name="gelu_quick", parts={"apply": lambda x: x * sigmoid(x * real(QUICK))}),
}

GELU_BACKWARD: Mapping[str, Kernel] = {
    "none": Kernel(binary, name="gelu_backward", parts={"apply": _gelu_backward}),
    "tanh": Kernel(binary, name="gelu_tanh_backward", parts={"apply": _tanh_gelu_backward}),
    "quick": Kernel(binary, name="gelu_quick_backward", parts={"apply": _quick_gelu_backward}),
}


def _softplus(x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * beta
    return x if scaled > threshold else log1p(exp(scaled)) / beta


def _hardtanh(x: Any, low: Any, high: Any) -> Any:
    # A comparison with NaN is false.
    x = low if x < low else x
    return high if x > high else x


PARAMETRIZED: Mapping[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "celu": (("alpha",), lambda x, alpha, _: x if x > real(0) else expm1(x / alpha) * alpha),
    "elu": (("alpha",), lambda x, alpha, _: expm1(x) * alpha if x <= real(0) else x),
    "hardshrink": (("lambd",), lambda x, size, _: real(0) if abs(x) <= size else x),
    "hardtanh": (("min", "max"), _hardtanh),
    "leaky_relu": (("slope",), lambda x, slope, _: x * slope if x <= real(0) else x),
    "softplus": (("beta", "threshold"), _softplus),
    "softshrink": (("lambd",), lambda x, size, _: x - (size if x > size else (-size if x < -size else x))),
}
"""By name of an op, which attributes the function takes behind the number."""
EXACT = ("hardshrink", "hardtanh", "leaky_relu", "softshrink")
"""Those that round at most once: vectors and single numbers agree, so that chains may have them."""


def _chosen(kernels: Mapping[str, Kernel]) -> Callable[[Work], list[Call] | None]:
    """Return the lowering of an op whose attribute `approximate` chooses the kernel."""

    return lambda work: elementwise_calls(work, kernels[work.attrs["approximate"]], alone=True)


def _parametrized(op: str) -> Callable[[Work], list[Call] | None]:
    """Return the lowering of an op whose attributes are numbers of the function."""
    names, function = PARAMETRIZED[op]
    code = of_two_numbers(op, function)

    def lower(work: Work) -> list[Call] | None:
        numbers = [float(work.attrs[name]) for name in names]
        numbers += [0.0] * (2 - len(numbers))
        return elementwise_calls(work, code, numbers=numbers, alone=op not in EXACT)

    return lower


HARDTANH_BACKWARD = of_two_numbers(
    "hardtanh_backward",
    lambda g, y, low, high: g if (y > low) & (y < high) else real(0),
    two_with_parameters,
)


@lowers("hardtanh_backward")
def _(work: Work) -> list[Call] | None:
    limits = (float(work.attrs["min"]), float(work.attrs["max"]))
    return elementwise_calls(work, HARDTANH_BACKWARD, numbers=limits)


lowers("gelu")(_chosen(GELU))
lowers("gelu_backward")(_chosen(GELU_BACKWARD))
for _op in PARAMETRIZED:
    lowers(_op)(_parametrized(_op))


PRELU = Kernel(binary, name="prelu", parts={"apply": lambda x, slope: x if x > real(0) else slope * x})


@lowers("prelu")
def _(work: Work) -> list[Call] | None:
    x, weight = work.inputs
    # One slope for everything, or one for each channel, axis 1.
    shape = (1,) * x.ndim if weight.size == 1 else (1, weight.size, *(1,) * (x.ndim - 2))
    return elementwise_calls(replace(work, inputs=[x, weight.reshape(shape)]), PRELU)
