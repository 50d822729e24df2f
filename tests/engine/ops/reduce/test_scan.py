"""Scans: zeros in products, -inf in sums of exponentials, ties and NaN in extremes, the linear recurrence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.errors import ShapeError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
INF, NAN = math.inf, math.nan
E = math.e

# op, inputs, attributes, value (of the first result), gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("cumsum", [[1.0, 2.0, 3.0]], {}, [1, 3, 6], [[3, 2, 1]]),
    ("cumsum", [[[1.0, 2.0], [3.0, 4.0]]], {"axis": 0}, [[1, 2], [4, 6]], [[[2, 2], [1, 1]]]),
    ("cumsum", [5.0], {}, 5, [1]),
    ("cumprod", [[2.0, 0.0, 3.0, 4.0]], {}, [2, 0, 0, 0], [[1, 32, 0, 0]]),
    ("cumprod", [[2.0, 0.0, 0.0]], {}, [2, 0, 0], [[1, 2, 0]]),
    ("cumprod", [[2.0, 3.0, 4.0]], {}, [2, 6, 24], [[16, 10, 6]]),
    ("logcumsumexp", [[-INF, 0.0, 1.0]], {}, [-INF, 0, math.log(1 + E)], [[NAN, 1 + 1 / (1 + E), E / (1 + E)]]),
    ("logcumsumexp", [[1000.0, 1000.0]], {}, [1000, 1000 + math.log(2)], [[1.5, 0.5]]),
    ("cummax", [[2.0, 2.0, 1.0]], {}, [2, 2, 2], [[1, 2, 0]]),
    ("cummax", [[1.0, NAN, 3.0]], {}, [1, NAN, NAN], [[1, 2, 0]]),
    ("cummin", [[2.0, 2.0, 3.0]], {}, [2, 2, 2], [[1, 2, 0]]),
    ("linear_recurrence", [[9.0, 2.0, 0.5], [1.0, 1.0, 1.0]], {}, [1, 3, 2.5], [[0, 1.5, 3], [4, 1.5, 1]]),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_as_in_pytorch(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], check_edge: CheckEdge
) -> None:
    check_edge(name, inputs, attrs, value, gradients)


def test_the_hessian_of_running_products_is_right_at_a_zero() -> None:
    x = tensor(np.array([2.0, 0.0, 3.0, 4.0]), requires_grad=True)
    (gradient,) = pull_back([OPS["cumprod"](x)], [tensor(np.ones(4))], [x])
    assert gradient is not None
    rows = [pull_back([gradient], [tensor(row)], [x])[0] for row in np.eye(4)]
    wanted = [[0, 16, 0, 0], [16, 0, 10, 6], [0, 10, 0, 0], [0, 6, 0, 0]]
    assert [row.numpy().tolist() for row in rows if row is not None] == wanted


def test_extremes_show_where_they_are() -> None:
    x = np.array([1.0, 3.0, 3.0, 2.0, NAN, 9.0])
    assert OPS["cummax"](x)[1].numpy().tolist() == [0, 1, 2, 2, 4, 4]
    assert OPS["cummin"](x)[1].numpy().tolist() == [0, 0, 0, 0, 4, 4]


@each_row(("steps", "width"), [(1, 1), (2, 1), (63, 1), (64, 1), (1000, 1), (64, 300)])
def test_a_recurrence_by_doubling_equals_one_step_by_step(steps: int, width: int) -> None:
    generator = np.random.default_rng(steps)
    a, b = generator.standard_normal((2, width, steps)) * 0.9
    wanted, state = np.empty_like(b), np.zeros(width)
    for t in range(steps):
        state = a[:, t] * state + b[:, t]
        wanted[:, t] = state
    np.testing.assert_allclose(OPS["linear_recurrence"](a, b).numpy(), wanted, rtol=1e-9, atol=1e-9)


def test_long_float32_sums_are_accurate() -> None:
    x = np.full(300_000, 0.1, np.float32)
    assert OPS["cumsum"](x).numpy()[-1] == pytest.approx(300_000 * float(np.float32(0.1)), rel=1e-7)


def test_integers_and_truths_add_up_to_int64() -> None:
    for dtype in ("bool", "int8"):
        total = OPS["cumsum"](np.ones(300, dtype))
        assert (total.dtype.name, int(total.numpy()[-1])) == ("int64", 300)


def test_factors_and_terms_must_have_one_shape() -> None:
    with pytest.raises(ShapeError, match=r"factors \[1, 3\] and terms \[2, 3\] must have one shape"):
        OPS["linear_recurrence"](np.ones((1, 3)), np.ones((2, 3)))
