"""Elementwise ops: known answers at the edges (PyTorch's), choice, comparison, types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.value import Array, Value, tensor
from engine.ops import OPS
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]
INF, NAN = math.inf, math.nan

# op, inputs, attributes, value, gradient of the sum of the result by each input
EDGES: list[tuple[str, list[Any], dict[str, Any], Any, list[Any]]] = [
    ("pow_scalar", [[0.0, 2.0]], {"exponent": 0.0}, [1, 1], [[0, 0]]),
    ("pow_scalar", [[0.0]], {"exponent": 0.5}, [0], [[INF]]),
    ("pow_scalar", [[-2.0]], {"exponent": 2.0}, [4], [[-4]]),
    ("pow", [[0.0], [0.0]], {}, [1], [[0], [0]]),
    ("pow", [[0.0], [2.0]], {}, [0], [[0], [0]]),
    ("pow", [[0.0], [-1.0]], {}, [INF], [[-INF], [-INF]]),
    ("pow", [[-2.0], [2.0]], {}, [4], [[-4], [NAN]]),
    ("sqrt", [[0.0, 4.0]], {}, [0, 2], [[INF, 0.25]]),
    ("rsqrt", [[0.0]], {}, [INF], [[-INF]]),
    ("abs", [[-2.0, 0.0, 2.0]], {}, [2, 0, 2], [[-1, 0, 1]]),
    ("sign", [[-2.0, 0.0, 2.0]], {}, [-1, 0, 1], [[0, 0, 0]]),
    ("maximum", [[2.0], [2.0]], {}, [2], [[0.5], [0.5]]),
    ("maximum", [[3.0, 1.0], [2.0, 2.0]], {}, [3, 2], [[1, 0], [0, 1]]),
    ("maximum", [[NAN], [2.0]], {}, [NAN], [[1], [1]]),
    ("minimum", [[2.0, 1.0], [2.0, 3.0]], {}, [2, 1], [[0.5, 1], [0.5, 0]]),
    ("clamp", [[-2.0, -1.0, 0.0, 1.0, 2.0]], {"min": -1.0, "max": 1.0}, [-1, -1, 0, 1, 1], [[0, 1, 1, 1, 0]]),
    ("clamp", [[NAN]], {"min": -1.0, "max": 1.0}, [NAN], [[0]]),
    ("div", [[1.0, 0.0, -1.0], [0.0, 0.0, 0.0]], {}, [INF, NAN, -INF], [[INF, INF, INF], [-INF, NAN, INF]]),
    ("log", [[0.0, -1.0]], {}, [-INF, NAN], [[INF, -1]]),
    ("log1p", [[-1.0, 1e-20]], {}, [-INF, 1e-20], [[INF, 1]]),
    ("expm1", [[1e-20]], {}, [1e-20], [[1]]),
    ("exp", [[1000.0, -1000.0]], {}, [INF, 0], [[INF, 0]]),
    ("tanh", [[1000.0, -1000.0]], {}, [1, -1], [[0, 0]]),
    ("lerp", [[0.0], [10.0]], {"weight": 0.25}, [2.5], [[0.75], [0.25]]),
]


@each_row(("name", "inputs", "attrs", "value", "gradients"), EDGES)
def test_edges_are_as_in_pytorch(
    name: str, inputs: list[Any], attrs: dict[str, Any], value: Any, gradients: list[Any], derive: Derive
) -> None:
    found, slopes = derive(OPS[name], *inputs, **attrs)
    np.testing.assert_allclose(found, value, rtol=1e-12)
    for slope, wanted in zip(slopes, gradients, strict=True):
        np.testing.assert_allclose(slope, wanted, rtol=1e-12)


def test_a_scalar_base_of_zero_has_gradient_zero_at_non_negative_exponents(derive: Derive) -> None:
    found, (slope,) = derive(lambda x: OPS["pow"](0.0, x), [0.0, 3.0])
    assert found.tolist() == [1, 0]
    assert slope is not None
    assert slope.tolist() == [0, 0]


def test_a_branch_not_taken_still_poisons_the_gradient(derive: Derive) -> None:
    _, (slope,) = derive(lambda x: OPS["where"](x > 0.0, OPS["sqrt"](x), 0.0), [-1.0, 0.0, 4.0])
    np.testing.assert_array_equal(slope, [NAN, NAN, 0.25])


def test_choosing_the_input_first_keeps_the_gradient_clean(derive: Derive) -> None:
    def safe_root(x: Value) -> Value:
        good = x > 0.0
        return OPS["where"](good, OPS["sqrt"](OPS["where"](good, x, 1.0)), 0.0)

    _, (slope,) = derive(safe_root, [-1.0, 0.0, 4.0])
    np.testing.assert_array_equal(slope, [0, 0, 0.25])


def test_the_hessian_of_a_cube_is_exact(derive: Derive) -> None:
    found, (slope,) = derive(OPS["pow_scalar"], [2.0, -1.0], exponent=3.0)
    assert found.tolist() == [8, -1]
    assert slope is not None
    assert slope.tolist() == [12, 3]


# op, types of the inputs, type of the result
TYPES = [
    ("div", ("int64", "int64"), "float32"),
    ("div", ("bool", "uint8"), "float32"),
    ("div", ("float64", "int64"), "float64"),
    ("add", ("int64", "float16"), "float16"),
    ("add", ("bool", "bool"), "bool"),
    ("sub", ("bool", "bool"), "bool"),
    ("mul", ("uint8", "int8"), "int16"),
    ("sqrt", ("int32",), "float32"),
    ("exp", ("float16",), "float16"),
    ("square", ("int32",), "int32"),
    ("neg", ("int8",), "int8"),
    ("eq", ("int8", "float64"), "bool"),
    ("logical_and", ("int8", "float64"), "bool"),
    ("maximum", ("int32", "int64"), "int64"),
]


@each_row(("name", "types", "wanted"), TYPES)
def test_results_have_the_type_pytorch_gives(name: str, types: tuple[str, ...], wanted: str) -> None:
    result = OPS[name](*[tensor(np.ones(3, dtype)) for dtype in types])
    assert result.dtype == result.numpy().dtype == wanted


def test_int_division_gives_floats() -> None:
    assert OPS["div"](tensor([1]), tensor([2])).numpy().tolist() == [0.5]


def test_float16_overflows_to_infinity() -> None:
    assert OPS["square"](tensor([300.0], dtype="float16")).item() == INF


@each_row(
    ("left", "right", "wanted"),
    [((2, 1), (1, 3), (2, 3)), ((), (3,), (3,)), ((4, 0), (4, 1), (4, 0)), ((1,), (2, 3, 1), (2, 3, 1))],
)
def test_shapes_broadcast_by_numpys_rule(
    left: tuple[int, ...], right: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    assert OPS["add"](np.ones(left), np.ones(right)).shape == wanted


def test_shapes_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(ShapeError, match=r"shapes \[2, 3\] and \[2, 4\] do not broadcast: axis -1 has 3 and 4"):
        OPS["add"](np.ones((2, 3)), np.ones((2, 4)))


def test_integers_refuse_negative_powers() -> None:
    with pytest.raises(ShapeError, match="negative integer power"):
        OPS["pow"](tensor([2]), tensor([-1]))


def test_clamp_needs_a_bound() -> None:
    with pytest.raises(AttributeValueError, match="clamp needs min, max or both"):
        OPS["clamp"](np.ones(2))


def test_where_needs_a_condition() -> None:
    with pytest.raises(DTypeError, match="where needs a bool condition, got float64"):
        OPS["where"](np.ones(2), np.ones(2), np.ones(2))


OPERATORS: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("add", lambda a, b: a + b),
    ("sub", lambda a, b: a - b),
    ("mul", lambda a, b: a * b),
    ("div", lambda a, b: a / b),
    ("pow", lambda a, b: a**b),
    ("lt", lambda a, b: a < b),
    ("le", lambda a, b: a <= b),
    ("gt", lambda a, b: a > b),
    ("ge", lambda a, b: a >= b),
    ("eq", lambda a, b: a == b),
    ("ne", lambda a, b: a != b),
]


@each_row(("name", "operator"), OPERATORS)
def test_operators_call_their_op_from_both_sides(name: str, operator: Callable[[Any, Any], Any]) -> None:
    a, b = np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])
    wanted = OPS[name](a, b).numpy()
    np.testing.assert_array_equal(operator(tensor(a), tensor(b)).numpy(), wanted)
    np.testing.assert_array_equal(operator(tensor(a), b).numpy(), wanted)
    np.testing.assert_array_equal(operator(a, tensor(b)).numpy(), wanted)


def test_logic_works_on_conditions() -> None:
    x = tensor([1.0, 5.0, 9.0])
    assert ((x > 2.0) & (x < 8.0)).numpy().tolist() == [False, True, False]
    assert ((x < 2.0) | (x > 8.0)).numpy().tolist() == [True, False, True]
    assert (~(x > 2.0)).numpy().tolist() == [True, False, False]
