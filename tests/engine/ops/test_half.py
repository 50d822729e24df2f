"""float16 and bfloat16: every op gives what float32 gives, rounded; sums overflow only where their result does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy import inf

from engine.autograd.backward import pull_back
from engine.autograd.differentiate import gradcheck
from engine.core.dtypes import BFLOAT16, FLOAT16, FLOAT32, DType, is_float
from engine.core.errors import DTypeError
from engine.core.registry import Op
from engine.core.samples import Sample
from engine.core.value import Array, Value, tensor
from engine.execution.plan import NumpyExecutor, make_plan
from engine.ops import OPS

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


def drawn(op: Op[Any], half: DType) -> Iterator[tuple[Sample, list[Array], list[Array]]]:
    """Give each sample with floating inputs, its arrays in the half type, and the same numbers in float32."""
    for number, sample in enumerate(op.samples):
        arrays = [np.asarray(array) for array in sample.arrays(f"{op.name}-{number}")]
        narrow = [array.astype(half) if array.dtype.kind == "f" else array for array in arrays]
        wide = [array.astype(FLOAT32) if array.dtype == half else array for array in narrow]
        if any(array.dtype == half for array in narrow):
            yield sample, narrow, wide


def called(op: Op[Any], leaves: Sequence[Value], attrs: dict[str, Any]) -> list[Value]:
    made = op(*leaves, **attrs)
    return list(made) if isinstance(made, tuple) else [made]


def results(op: Op[Any], arrays: list[Array], attrs: dict[str, Any]) -> list[Array]:
    return [value.numpy() for value in called(op, [tensor(array) for array in arrays], attrs)]


every_op = pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in OPS.values()])


@every_op
def test_an_op_rounds_a_half_type_only_at_the_end(op: Op[Any]) -> None:
    for half in HALVES:
        _check_rounding(op, half)


def _check_rounding(op: Op[Any], half: DType) -> None:
    for sample, narrow, wide in drawn(op, half):
        found = zip(results(op, narrow, sample.attrs), results(op, wide, sample.attrs), strict=True)
        for result, expected in found:
            if result.dtype == half:
                noise = np.abs(expected) < NOISE * np.abs(expected[np.isfinite(expected)]).max(initial=0)
                apart = np.where(noise, 0, steps_between(result, narrowed(expected, half))).max(initial=0)
                most = 0 if half is BFLOAT16 and not op.composite else SEVERAL_STEPS.get(op.name, ULPS)
                assert apart <= most, (half, sample)
            elif result.dtype.kind != "f":
                np.testing.assert_array_equal(result, expected)


def gradients(op: Op[Any], arrays: list[Array], attrs: dict[str, Any]) -> list[Array | None]:
    """Differentiate the sum of the floating results, each times a weight, by the floating inputs."""
    leaves = [tensor(array, requires_grad=is_float(array.dtype)) for array in arrays]
    outputs = [value for value in called(op, leaves, attrs) if value.requires_grad]
    weights = np.random.default_rng(1)
    seeds = [tensor((weights.integers(8, 16, value.shape) / 8).astype(value.dtype)) for value in outputs]
    pulled = pull_back(outputs, seeds, [leaf for leaf in leaves if leaf.requires_grad])
    return [None if gradient is None else gradient.numpy() for gradient in pulled]


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in OPS.values() if op.name not in DIFFERENCES])
def test_a_gradient_in_a_half_type_is_that_of_float32_rounded(op: Op[Any]) -> None:
    for half in HALVES:
        _check_gradients(op, half)


def _check_gradients(op: Op[Any], half: DType) -> None:
    for sample, narrow, wide in drawn(op, half):
        pairs = zip(gradients(op, narrow, sample.attrs), gradients(op, wide, sample.attrs), strict=True)
        for found, expected in pairs:
            if found is None or expected is None:
                assert found is expected
            elif found.dtype == half:
                wanted = narrowed(expected, half).astype(FLOAT32)
                finite = np.isfinite(wanted)
                scale = np.abs(wanted[finite]).max(initial=2.0**-14)
                unit = scale * (2.0**-8 if half is BFLOAT16 else 2.0**-11)
                np.testing.assert_allclose(
                    found.astype(FLOAT32)[finite],
                    wanted[finite],
                    rtol=0,
                    atol=SLOPE_ULPS * unit,
                    err_msg=f"{half} {sample}",
                )


@every_op
def test_a_plan_gives_the_bits_of_the_tape_in_bfloat16(op: Op[Any]) -> None:
    for sample, narrow, _ in drawn(op, BFLOAT16):
        if op.data_dependent:
            continue
        expected = results(op, narrow, sample.attrs)
        inputs = {str(n): Value(array.shape, array.dtype, None) for n, array in enumerate(narrow)}
        outputs = {str(n): value for n, value in enumerate(called(op, list(inputs.values()), sample.attrs))}
        executor = NumpyExecutor(make_plan(inputs, {}, outputs, {}), {})
        for name, array in zip(inputs, narrow, strict=True):
            if name in executor.inputs:
                executor.inputs[name][...] = array
        executor.run()
        for name, array in zip(outputs, expected, strict=True):
            assert executor.outputs[name].dtype == array.dtype
            assert executor.outputs[name].tobytes() == array.tobytes()


TWENTIES = np.full(4096, 20.0)
BIG = np.array([60000.0, 60000.0])
WAVE = np.tile([300.0, -300.0], 2048)

# (op, inputs, attributes, the first number of the result)
KNOWN: list[tuple[str, list[Any], dict[str, Any], float]] = [
    ("sum", [TWENTIES], {}, inf),
    ("mean", [TWENTIES], {}, 20),
    ("nanmean", [TWENTIES], {}, 20),
    ("sum", [np.ones(4096)], {}, 4096),
    ("prod", [[300.0, 300.0, 0.001]], {}, 90),
    ("std", [WAVE], {"correction": 0}, 300),
    ("norm", [WAVE], {}, 19200),
    ("logsumexp", [BIG], {}, 60000),
    ("softmax", [BIG], {}, 0.5),
    ("matmul", [[[300.0]], [[300.0]]], {}, inf),
    ("matmul", [TWENTIES[None], np.full((4096, 1), 0.01)], {}, 819.5),
    ("linear", [np.array([[300.0]]), np.array([[300.0]]), np.array([-60000.0])], {}, 30000),
    ("conv2d", [np.full((1, 64, 8, 8), 20.0), np.full((1, 64, 8, 8), 0.01)], {}, 819.5),
    ("avg_pool2d", [np.full((1, 1, 64, 64), 60000.0)], {"kernel": 64}, 60000),
    ("layer_norm", [np.tile([30000.0, -30000.0], 8)], {}, 1),
    ("rms_norm", [np.tile([30000.0, -30000.0], 8)], {}, 1),
    ("mse_loss", [np.array([300.0, 0.0, 0.0, 0.0]), np.zeros(4)], {}, 22500),
    ("cosine_similarity", [BIG, BIG], {"axis": 0}, 1),
    ("scatter_add", [np.ones(4096), np.zeros(4096, int)], {"axis": 0, "shape": (1,)}, 4096),
    ("add_rows", [np.ones((4096, 2)), np.zeros(4096, int)], {"rows": 1}, 4096),
    ("scaled_dot_product_attention", [np.full((2, 512), 20.0), np.full((3, 512), 20.0), np.ones((3, 1))], {}, 1),
    ("softplus", [[15.0]], {}, 15),
]


@pytest.mark.parametrize(("name", "inputs", "attrs", "first"), KNOWN)
def test_nothing_overflows_or_is_lost_on_the_way(
    name: str, inputs: list[Any], attrs: dict[str, Any], first: float
) -> None:
    arrays = [np.asarray(x) for x in inputs]
    narrow = [x.astype(np.float16) if x.dtype.kind == "f" else x for x in arrays]
    result = results(OPS[name], narrow, attrs)[0]
    assert result.dtype == np.float16
    assert result.reshape(-1)[0] == pytest.approx(first, rel=1e-3)


# bfloat16 has the range of float32 and 8 digits: here it is the digits that could get lost on the way.
DIGITS: list[tuple[str, list[Any], dict[str, Any], float]] = [
    ("square", [[300.0]], {}, 90112),
    ("sum", [TWENTIES], {}, 81920),
    ("sum", [np.ones(4096)], {}, 4096),
    ("sum", [np.ones((4096, 2))], {"axis": 0}, 4096),
    ("mean", [TWENTIES], {}, 20),
    ("cumsum", [np.ones(4096)], {"axis": 0}, 1),
    ("logsumexp", [BIG], {}, 59904),
    ("softmax", [BIG], {}, 0.5),
    ("matmul", [np.ones((1, 4096)), np.ones((4096, 1))], {}, 4096),
    ("scatter_add", [np.ones(4096), np.zeros(4096, int)], {"axis": 0, "shape": (1,)}, 4096),
    ("add_rows", [np.ones((4096, 2)), np.zeros(4096, int)], {"rows": 1}, 4096),
    ("nan_to_num", [[inf]], {}, 3.3895313892515355e38),
    ("cast", [np.array([1 + 2.0**-8])], {"dtype": "bfloat16"}, 1),  # ties go to even
    ("cast", [np.array([1 + 3 * 2.0**-8])], {"dtype": "bfloat16"}, 1 + 2.0**-6),
    ("cast", [np.array([16777217])], {"dtype": "bfloat16"}, 16777216),
    ("zeros", [], {"shape": (2,), "dtype": "bfloat16"}, 0),
    ("full", [], {"shape": (2,), "value": 0.1, "dtype": "bfloat16"}, 0.10009765625),
    ("arange", [], {"start": 257, "stop": 259, "dtype": "bfloat16"}, 256),
    ("linspace", [], {"start": 0.1, "stop": 1.0, "steps": 3, "dtype": "bfloat16"}, 0.10009765625),
    ("eye", [], {"rows": 2, "dtype": "bfloat16"}, 1),
    ("one_hot", [np.array([0])], {"classes": 2, "dtype": "bfloat16"}, 1),
    ("sinusoidal_encoding", [], {"length": 2, "dims": 4, "dtype": "bfloat16"}, 0),
]


@pytest.mark.parametrize(("name", "inputs", "attrs", "first"), DIGITS)
def test_bfloat16_loses_digits_only_in_the_result(
    name: str, inputs: list[Any], attrs: dict[str, Any], first: float
) -> None:
    arrays = [np.asarray(x) for x in inputs]
    narrow = [x.astype(BFLOAT16) if x.dtype.kind == "f" and name != "cast" else x for x in arrays]
    result = results(OPS[name], narrow, attrs)[0]
    assert result.dtype is BFLOAT16
    assert float(result.reshape(-1)[0]) == first


DRAWS = [op.name for op in OPS.values() if op.random and "dtype" in op.attributes and op.name != "random_integers"]


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("name", DRAWS)
def test_draws_of_a_half_type_stay_in_their_range(name: str, half: DType) -> None:
    lowest, highest = {
        "random_uniform": (0, np.nextafter(half.type(1), half.type(0))),
        "random_normal": (-6, 6),
        "truncated_normal": (-2, 2),
        "exponential": (1e-38, 20),
        "dropout_mask": (0, 2),
    }[name]
    numbers = results(OPS[name], [np.array([1, 2])], {"shape": (20000,), "dtype": half})[0]
    assert numbers.dtype == half
    wide = numbers.astype(FLOAT32)
    assert float(lowest) <= wide.min() < wide.max() <= float(highest)


def test_a_gradient_has_the_type_of_its_parameter() -> None:
    w = tensor([1.0, 2.0], dtype="bfloat16", requires_grad=True)
    b = tensor([0.5], dtype="float16", requires_grad=True)
    loss = OPS["sum"](w * tensor([3.0, 4.0]) + b)
    assert loss.dtype == FLOAT32
    loss.backward()
    assert (w.grad.dtype, b.grad.dtype) == (BFLOAT16, FLOAT16)
    assert w.grad.numpy().tolist() == [3, 4]
    loss = OPS["sum"](w)
    loss.backward()
    assert w.grad.numpy().tolist() == [4, 5]


def test_bfloat16_goes_to_numpy_and_back() -> None:
    value = tensor([1.5, 3e38, -inf], dtype="bfloat16")
    assert value.numpy().dtype is BFLOAT16
    assert tensor(value.numpy()).dtype is BFLOAT16
    assert value.numpy().astype(FLOAT32).tolist() == [1.5, float(BFLOAT16.type(3e38)), -inf]
    assert tensor(1.5, dtype="bfloat16").item() == 1.5
    assert "bfloat16" in repr(value)


def test_gradcheck_refuses_half_types() -> None:
    for half in (FLOAT16, BFLOAT16):
        with pytest.raises(DTypeError, match="gradcheck needs float64"):
            gradcheck(lambda x: x * x, np.ones(2, half))
