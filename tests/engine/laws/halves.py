"""Laws of float16 and bfloat16: every op gives what float32 gives, rounded, and so do its gradients."""

from __future__ import annotations

import numpy as np

from engine.autograd.backward import pull_back
from engine.core.dtypes import BFLOAT16, FLOAT16, FLOAT32, DType
from engine.core.value import Array, tensor
from tests.engine.laws.case import Case, Run
from tests.engine.laws.law import law

assert BFLOAT16 is not None
HALVES = (FLOAT16, BFLOAT16)

ULPS = 2
"""Numbers of the half type that may lie between an op's result and float32's, rounded."""

SEVERAL_STEPS = {"svd": 8, "lstsq": 8, "lstsq_results": 8}
"""The same for compositions that orthogonalise in the half type: a rounding in each of their steps."""

NOISE = 2.0**-21
"""Share of the largest number of a float32 result below which its digits are those of rounding alone."""

SLOPE_ULPS = 16
"""Units in the last place of the largest gradient of an input that may lie between its gradients in both types."""

DIFFERENCES = {
    "bessel_i": "of Bessel functions of neighbouring orders",
    "i0e": "of Bessel functions of neighbouring orders",
    "i1e": "of Bessel functions of neighbouring orders",
    "cofactors_along": "of products that cancel to zero",
    "silu": "of 1 and a product, next to the minimum of the function",
}
"""Ops whose gradient is a small difference of larger numbers, each rounded to the half type, and of which."""


def steps_between(a: Array, b: Array) -> Array:
    """Count the numbers of a half type between a and b; NaN is next to NaN only."""
    nan = [np.isnan(x.astype(FLOAT32)) for x in (a, b)]
    bits = [np.ascontiguousarray(x).view(np.int16).astype(np.int64) for x in (a, b)]
    places = [np.where(x < 0, -(x & 0x7FFF), x) for x in bits]
    apart = np.where(nan[0] | nan[1], 2**16, np.abs(places[0] - places[1]))
    return np.asarray(np.where(nan[0] & nan[1], 0, apart))


def narrowed(array: Array, half: DType) -> Array:
    """Round float32 once."""
    with np.errstate(over="ignore"):
        return np.asarray(array).astype(half)


def _check_rounding(case: Case, half: DType, narrow: Run, wide: Run) -> None:
    for found, wanted in zip(narrow.outputs, wide.outputs, strict=True):
        result, expected = found.numpy(), wanted.numpy()
        if result.dtype == half:
            noise = np.abs(expected) < NOISE * np.abs(expected[np.isfinite(expected)]).max(initial=0)
            apart = np.where(noise, 0, steps_between(result, narrowed(expected, half))).max(initial=0)
            most = 0 if half is BFLOAT16 and not case.op.composite else SEVERAL_STEPS.get(case.op.name, ULPS)
            assert apart <= most, f"the result is {apart} numbers away"
        elif result.dtype.kind != "f":
            np.testing.assert_array_equal(result, expected)


def _gradients(run: Run) -> list[Array | None]:
    """Differentiate the sum of the floating results, each times a weight, by the floating inputs."""
    outputs = [value for value in run.outputs if value.requires_grad]
    weights = np.random.default_rng(1)
    seeds = [tensor((weights.integers(8, 16, value.shape) / 8).astype(value.dtype)) for value in outputs]
    pulled = pull_back(outputs, seeds, [leaf for leaf in run.inputs if leaf.requires_grad])
    return [None if gradient is None else gradient.numpy() for gradient in pulled]


def _check_gradients(half: DType, narrow: Run, wide: Run) -> None:
    for found, expected in zip(_gradients(narrow), _gradients(wide), strict=True):
        if found is None or expected is None:
            assert found is expected
        elif found.dtype == half:
            wanted = narrowed(expected, half).astype(FLOAT32)
            finite = np.isfinite(wanted)
            scale = np.abs(wanted[finite]).max(initial=2.0**-14)
            unit = scale * (2.0**-8 if half is BFLOAT16 else 2.0**-11)
            apart = np.abs(found.astype(FLOAT32)[finite] - wanted[finite])
            assert not (~(apart <= SLOPE_ULPS * unit)).any(), f"a gradient is {apart.max()} away, of {scale}"


@law(dtypes=HALVES)
def an_op_and_its_gradient_round_a_half_type_only_at_the_end(case: Case, half: DType) -> None:
    narrow = case.computed(half)
    if not any(leaf.dtype == half for leaf in narrow.inputs):
        return
    arrays = [leaf.numpy() for leaf in narrow.inputs]
    leaves = [tensor(a.astype(FLOAT32) if a.dtype == half else a, requires_grad=a.dtype == half) for a in arrays]
    wide = Run(leaves, case.call(leaves))
    _check_rounding(case, half, narrow, wide)
    if case.op.name not in DIFFERENCES:
        _check_gradients(half, narrow, wide)
