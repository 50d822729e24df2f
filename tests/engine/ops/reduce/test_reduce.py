"""Reductions: known answers at ties, zeros and emptiness (PyTorch's), accuracy, types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.errors import DTypeError, ShapeError
from engine.core.value import Array, tensor
from engine.ops import OPS
from engine.ops.reduce.reduce import sum_array
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]
INF, NAN = math.inf, math.nan

# op, input, attributes, value, gradient of the sum of the result
EDGES: list[tuple[str, Any, dict[str, Any], Any, Any]] = [
    ("amax", [1.0, 3.0, 3.0], {}, 3, [0, 0.5, 0.5]),
    ("amin", [1.0, 1.0, 3.0], {}, 1, [0.5, 0.5, 0]),
    ("amax", [[2.0, 2.0], [1.0, 0.0]], {"axis": 1}, [2, 1], [[0.5, 0.5], [1, 0]]),
    ("max", [1.0, 3.0, 3.0], {}, 3, [0, 0.5, 0.5]),
    ("max", [[2.0, 2.0], [1.0, 5.0]], {"axis": 1}, [2, 5], [[1, 0], [0, 1]]),
    ("min", [[2.0, 2.0], [1.0, 5.0]], {"axis": -1}, [2, 1], [[1, 0], [1, 0]]),
    ("prod", [2.0, 0.0, 3.0], {}, 0, [0, 6, 0]),
    ("prod", [2.0, 0.0, 0.0], {}, 0, [0, 0, 0]),
    ("prod", [2.0, 3.0, 4.0], {}, 24, [12, 8, 6]),
    ("sum", np.zeros((0, 2)), {"axis": 0}, [0, 0], np.zeros((0, 2))),
    ("prod", np.zeros((2, 0)), {"axis": 1}, [1, 1], np.zeros((2, 0))),
    ("mean", np.zeros((2, 0)), {"axis": 1}, [NAN, NAN], np.zeros((2, 0))),
    ("mean", [1.0, 2.0, 6.0], {}, 3, [1 / 3] * 3),
    ("var", [5.0], {}, NAN, [NAN]),
    ("var", [5.0], {"correction": 0}, 0, [0]),
    ("var", [1.0, 3.0], {}, 2, [-2, 2]),
    ("std", [4.0, 4.0, 4.0], {}, 0, [0, 0, 0]),
    ("norm", [0.0, 0.0], {}, 0, [0, 0]),
    ("norm", [3.0, 4.0], {}, 5, [0.6, 0.8]),
    ("logsumexp", [0.0, -INF, 0.0], {}, math.log(2), [0.5, 0, 0.5]),
    ("logsumexp", [-INF, -INF], {}, -INF, [NAN, NAN]),
    ("logsumexp", np.zeros((2, 0)), {"axis": 1}, [-INF, -INF], np.zeros((2, 0))),
    ("logsumexp", [1000.0, 1000.0], {}, 1000 + math.log(2), [0.5, 0.5]),
    ("logsumexp", [INF, 0.0], {}, INF, None),
]


@each_row(("name", "data", "attrs", "value", "gradient"), EDGES)
def test_edges_are_as_in_pytorch(
    name: str, data: Any, attrs: dict[str, Any], value: Any, gradient: Any, derive: Derive
) -> None:
    found, (slope,) = derive(OPS[name], data, **attrs)
    np.testing.assert_allclose(found, value, rtol=1e-12)
    if gradient is not None:
        np.testing.assert_allclose(slope, gradient, rtol=1e-12)


def test_the_hessian_of_a_product_with_a_zero_is_right() -> None:
    x = tensor(np.array([2.0, 0.0, 3.0]), requires_grad=True)
    (gradient,) = pull_back([OPS["prod"](x)], [tensor(np.ones(()))], [x])
    assert gradient is not None
    rows = [pull_back([gradient], [tensor(row)], [x])[0] for row in np.eye(3)]
    assert [row.numpy().tolist() for row in rows if row is not None] == [[0, 3, 0], [3, 0, 2], [0, 2, 0]]


@each_row(
    ("name", "data", "attrs", "wanted"),
    [
        ("argmax", [1.0, 3.0, 3.0], {}, 1),
        ("argmin", [2.0, 1.0, 1.0], {}, 1),
        ("argmax", [1.0, NAN, 3.0], {}, 1),
        ("argmax", [[1.0, 2.0], [4.0, 3.0]], {"axis": 0}, [1, 1]),
        ("argmax", [[1.0, 2.0], [4.0, 3.0]], {"axis": 1, "keepdims": True}, [[1], [0]]),
        ("argmax", [[1.0, 2.0], [4.0, 3.0]], {}, 2),
        ("all", [[True, False], [True, True]], {"axis": 1}, [False, True]),
        ("any", [[False, False], [True, False]], {}, True),
        ("all", [], {}, True),
    ],
)
def test_indices_and_truths_are_known(name: str, data: Any, attrs: dict[str, Any], wanted: Any) -> None:
    assert OPS[name](np.asarray(data), **attrs).numpy().tolist() == wanted


@each_row("name", ["amax", "amin", "max", "min", "argmax", "argmin"])
def test_a_maximum_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ShapeError, match=r"cannot reduce shape \[2, 0\] over an axis of extent 0"):
        OPS[name](np.zeros((2, 0)), axis=1)


@each_row(
    ("name", "dtype", "wanted"),
    [
        ("sum", "bool", "int64"),
        ("sum", "int32", "int64"),
        ("prod", "uint8", "int64"),
        ("sum", "float16", "float16"),
        ("mean", "float16", "float16"),
        ("amax", "int8", "int8"),
        ("argmax", "float32", "int64"),
        ("any", "float32", "bool"),
    ],
)
def test_results_have_the_type_pytorch_gives(name: str, dtype: str, wanted: str) -> None:
    result = OPS[name](tensor(np.ones((2, 3), dtype)))
    assert result.dtype == result.numpy().dtype == wanted


def test_a_mean_of_integers_is_refused() -> None:
    with pytest.raises(DTypeError, match="mean needs a floating input, got int64; cast it to float32"):
        OPS["mean"](np.ones(3, np.int64))


@pytest.mark.parametrize(
    ("axis", "message"),
    [(2, r"axis 2 is out of range for 2 axes; use -2..1"), ((0, 0), "names an axis twice"), ((0, -2), "twice")],
)
def test_axes_are_checked(axis: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        OPS["sum"](np.ones((2, 3)), axis=axis)


@each_row(
    ("axis", "keepdims", "shape"),
    [
        (None, False, ()),
        (None, True, (1, 1, 1)),
        (1, False, (2, 4)),
        (-1, True, (2, 3, 1)),
        ((0, 2), False, (3,)),
        ((), False, (2, 3, 4)),
    ],
)
def test_every_reduction_shapes_its_result_alike(axis: Any, keepdims: bool, shape: tuple[int, ...]) -> None:
    x = np.arange(24.0).reshape(2, 3, 4) / 10
    for name in ("sum", "mean", "prod", "amax", "amin", "logsumexp", "norm", "var"):
        assert OPS[name](x, axis=axis, keepdims=keepdims).shape == shape
    np.testing.assert_allclose(OPS["sum"](x, axis=axis, keepdims=keepdims).numpy(), x.sum(axis, keepdims=keepdims))


def test_float16_accumulates_in_float32() -> None:
    twenties = tensor(np.full(4096, 20, np.float16))
    assert OPS["sum"](twenties).item() == INF
    assert OPS["mean"](twenties).item() == 20
    ones = tensor(np.ones((4096, 2), np.float16))
    assert OPS["sum"](ones, axis=0).numpy().tolist() == [4096, 4096]
    assert OPS["logsumexp"](tensor(np.full(2, 6e4, np.float16))).item() == 6e4


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((1_000_000, 4), (0,)),
        ((65_537, 16), (0,)),
        ((2, 300_000, 2), (1,)),
        ((1000, 3, 1000), (0, 2)),
        ((3_000_001,), (0,)),
    ],
)
def test_float32_sums_are_accurate_along_every_axis(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).random(shape, np.float32)
    exact = x.sum(axis=axes, dtype=np.float64)
    np.testing.assert_allclose(sum_array(x, axes), exact, rtol=1e-5)
    np.testing.assert_allclose(OPS["mean"](x, axis=axes).numpy(), exact / (x.size // exact.size), rtol=1e-5)


@each_row("name", ["sum", "mean", "prod"])
@each_row("dtype", ["float32", "float64"])
def test_a_result_that_is_given_has_the_same_bits(name: str, dtype: str) -> None:
    """Of an operand whose neighbours in memory lie along another axis than the last."""
    x = np.random.default_rng(3).uniform(0.5, 1.5, (16, 16, 96)).astype(dtype).transpose(2, 1, 0)
    for axis in (0, 1, 2, (0, 1), (1, 2)):
        alone = OPS[name].body(x, axis=axis, keepdims=True)
        given = OPS[name].body(x, axis=axis, keepdims=True, out=np.empty(alone.shape, dtype))
        np.testing.assert_array_equal(given, alone)


def test_a_bias_gradient_over_a_million_rows_is_accurate() -> None:
    x = tensor(np.full((1_000_000, 4), 0.1, np.float32))
    bias = tensor(np.zeros(4, np.float32), requires_grad=True)
    loss = (x + bias).sum(axis=0)
    (gradient,) = pull_back([loss], [tensor(np.full(4, 0.1, np.float32))], [bias])
    assert gradient is not None
    np.testing.assert_allclose(gradient.numpy(), 1e5, rtol=1e-5)


@each_row(("rows", "columns"), [(0, 3), (1, 3), (255, 2), (256, 2), (257, 2), (513, 1)])
def test_blocks_of_every_size_sum_exactly(rows: int, columns: int) -> None:
    x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns) % 7
    out = np.full(columns, 9, np.float32)
    assert sum_array(x, (0,), out=out) is out
    assert out.tolist() == x.sum(axis=0, dtype=np.float64).tolist()
    view = x[:, ::-1]
    assert sum_array(view, (0,)).tolist() == out[::-1].tolist()


@each_row(("shape", "target"), [((2, 3), (3,)), ((2, 3), (1, 3)), ((2, 3), ()), ((2, 3), (2, 3)), ((4, 1, 3), (1, 3))])
def test_sum_to_undoes_broadcasting(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    x = np.arange(math.prod(shape), dtype=float).reshape(shape)
    folded = OPS["sum_to"](x, shape=target)
    assert folded.shape == target
    assert folded.numpy().sum() == x.sum()


def test_sum_to_over_no_axes_keeps_the_sign_of_zero() -> None:
    total = OPS["sum_to"](tensor(np.array([-0.0, 0.0])), shape=(2,))
    assert np.signbit(total.numpy()).tolist() == [True, False]
