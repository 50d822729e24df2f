"""Element types, float16 and float32 sums, and very long chains: where precision, range or the stack could run out."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy import inf

from engine.core.errors import DTypeError
from engine.core.value import Array, Value, tensor
from engine.ops import OPS
from engine.optim.loss_scaler import LossScaler, ScaledStep
from engine.optim.tape_optimizer import TapeOptimizer
from tests.extent import FULL
from tests.support.rows import each_row

pytestmark = pytest.mark.slow

ACCURATE = 5e-6
"""Bound of the relative error of a float32 sum of numbers of one sign; adding row by row would reach 1e-2."""


class Known(NamedTuple):
    """A call with the element type and the first number of its result."""

    row: str
    case: str
    op: str
    inputs: list[Any]
    attrs: dict[str, Any]
    dtype: str
    first: float


def half(*numbers: float) -> Array:
    """A float16 vector."""
    return np.array(numbers, np.float16)


# fmt: off
KNOWN = [
    Known("float16", "300 squared", "square", [half(300)], {}, "float16", inf),
    Known("float16", "sum of 2 x 60000", "sum", [half(60000, 60000)], {}, "float16", inf),
    Known("float16", "mean of 2 x 60000", "mean", [half(60000, 60000)], {}, "float16", 60000),
    Known("float16", "logsumexp of 2 x 60000", "logsumexp", [half(60000, 60000)], {}, "float16", 60000),
    Known("float16", "softmax of 2 x 60000", "softmax", [half(60000, 60000)], {}, "float16", 0.5),
    Known("float16", "product whose terms overflow and cancel", "matmul",
          [half(300, 300)[None], half(300, -300)[:, None]], {}, "float16", 0),
    Known("element types", "int / int", "div", [np.array([1]), np.array([2])], {}, "float32", 0.5),
    Known("element types", "sum of bool", "sum", [np.array([True, True])], {}, "int64", 2),
    Known("element types", "sum of int8", "sum", [np.array([100, 100], np.int8)], {}, "int64", 200),
    Known("float32 sum of ten million", "all axes", "sum", [np.full(10**7, 0.1, np.float32)], {}, "float32", 1e6),
]
# fmt: on


@each_row("known", KNOWN, ids=lambda known: f"{known.row}: {known.case}")
def test_a_result_has_its_known_type_and_value(known: Known) -> None:
    result = OPS[known.op](*known.inputs, **known.attrs).numpy()
    assert result.dtype == np.dtype(known.dtype)
    assert float(result.flat[0]) == pytest.approx(known.first, rel=1e-6)


def test_a_mean_of_integers_is_refused() -> None:
    with pytest.raises(DTypeError, match="mean needs a floating input"):
        OPS["mean"](np.array([1, 2]))


def _sum_of_rows(x: Array) -> Value:
    return OPS["sum"](x, axis=0)


def _sum_to_a_row(x: Array) -> Value:
    return OPS["sum_to"](x, shape=x.shape[1:])


def _mean_of_rows(x: Array) -> Value:
    return OPS["mean"](x, axis=0) * float(len(x))


def _gradient_of_a_bias(x: Array) -> Value:
    bias = tensor(np.zeros(x.shape[1], np.float32), requires_grad=True)
    created = OPS["linear"](tensor(np.ones((len(x), 1), np.float32)), np.ones((x.shape[1], 1), np.float32), bias)
    created.backward(x)
    assert bias.grad is not None
    return bias.grad


def _gradient_of_a_broadcast(x: Array) -> Value:
    row = tensor(np.ones(x.shape[1], np.float32), requires_grad=True)
    (row * x).sum().backward()
    assert row.grad is not None
    return row.grad


def _mean_of_batch_norm(x: Array) -> Value:
    ones, zeros = np.ones(x.shape[1], np.float32), np.zeros(x.shape[1], np.float32)
    _, mean, _ = OPS["batch_norm"](x, ones, zeros, zeros, ones, momentum=1.0, training=True)
    return mean * float(len(x))


def _gradient_of_batch_norm(x: Array) -> Value:
    ones, zeros = np.ones(x.shape[1], np.float32), np.zeros(x.shape[1], np.float32)
    bias = tensor(zeros, requires_grad=True)
    OPS["batch_norm"](x, ones, bias, zeros, ones, training=True)[0].backward(x)
    assert bias.grad is not None
    return bias.grad


COLUMN_SUMS = [
    _sum_of_rows,
    _sum_to_a_row,
    _mean_of_rows,
    _gradient_of_a_bias,
    _gradient_of_a_broadcast,
    _mean_of_batch_norm,
    _gradient_of_batch_norm,
]


@pytest.mark.parametrize("shape", [(65536, 64), (10**6, 4)], ids=str)
@pytest.mark.parametrize("sum_columns", COLUMN_SUMS, ids=lambda function: function.__name__.strip("_"))
def test_a_float32_sum_along_axis_0_is_accurate(sum_columns: Callable[[Array], Value], shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).random(shape, np.float32)
    found = sum_columns(x).numpy()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, x.sum(axis=0, dtype=np.float64), rtol=ACCURATE)


@pytest.mark.parametrize("length", [20_000, 100_000] if FULL else [20_000])  # a chain of 100,000 adds: test_backward
def test_a_long_chain_is_run_differentiated_and_freed_without_recursion(length: int) -> None:
    x = tensor(np.array([1.0]), requires_grad=True)
    y, halfway = x, None
    for number in range(length):
        y = OPS["neg"](y)
        halfway = weakref.ref(y) if number == length // 2 else halfway
    assert length > sys.getrecursionlimit()
    y.backward(retain_graph=True)
    assert x.grad is not None
    assert (y.item(), x.grad.item()) == (1, 1)
    del y
    gc.collect()
    assert halfway is not None
    assert halfway() is None


def test_an_infinite_gradient_skips_the_step_and_halves_the_scale_of_the_loss() -> None:
    weight = tensor(np.array([1.0], np.float32), requires_grad=True)
    scaler, optimizer = LossScaler(), TapeOptimizer([weight], "sgd", lr=1.0)
    scaler.scaled((weight * 1e38).sum()).backward()
    assert scaler.step(optimizer) == ScaledStep(found_inf=True, scale=2.0**15)
    assert weight.numpy().tolist() == [1.0]
    assert scaler.state_dict() == {"scale": 2.0**15, "good_steps": 0}


ROWS = (
    "float16",
    "loss scaling",
    "float32 sum of ten million",
    "float32 sum along axis 0",
    "element types",
    "long chain",
)
SHOWN_APART = {
    "loss scaling": test_an_infinite_gradient_skips_the_step_and_halves_the_scale_of_the_loss,
    "float32 sum along axis 0": test_a_float32_sum_along_axis_0_is_accurate,
    "long chain": test_a_long_chain_is_run_differentiated_and_freed_without_recursion,
}


def test_every_row_has_a_case() -> None:
    assert {known.row for known in KNOWN} | SHOWN_APART.keys() == set(ROWS)
