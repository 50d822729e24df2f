"""Operands of mixed types, numbers in the place of vectors, empty ones and ones left out: each answer is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.core.errors import AttributeValueError, DTypeError, EngineError, ShapeError
from engine.core.value import Array, Value, tensor
from engine.ops import OPS
from tests.support.rows import each_row

LARGE = 2**24 + 1
"""A whole number that float32 does not hold."""
WHOLE = np.array([6, 5])


def found(name: str, *operands: Any, **attrs: Any) -> Array:
    created: Value = OPS[name](*operands, **attrs)
    return created.numpy()


@pytest.mark.parametrize(
    ("name", "attrs", "known"),
    [("addcmul", {}, LARGE), ("addcdiv", {}, LARGE), ("add_scaled", {"alpha": 3.0}, 3 * LARGE)],
)
def test_what_is_added_is_computed_in_the_type_of_the_result(name: str, attrs: dict[str, Any], known: int) -> None:
    whole, one = np.array([LARGE]), np.ones(1, np.float32)
    operands = [np.zeros(1), whole] if name == "add_scaled" else [np.zeros(1), whole, one]
    created = found(name, *operands, **attrs)
    assert created.dtype == np.float64
    assert created.item() == known


FACTORS = [
    ("addmm", [WHOLE, np.eye(2, dtype=np.int64), np.ones((2, 2), np.int64)], {"alpha": 2.0, "beta": 3.0}),
    ("addcmul", [WHOLE, WHOLE, WHOLE], {"value": 2.0}),
    ("index_add", [WHOLE, np.array([0]), np.array([1])], {"alpha": 2.0}),
    ("threshold", [WHOLE], {"threshold": 5.0, "value": 2.0}),
    ("matmul", [WHOLE.astype(np.int32), WHOLE.astype(np.int32)], {}),
    ("pow_scalar", [WHOLE], {"exponent": 2.0}),
]


@each_row(("name", "operands", "attrs"), FACTORS, ids=[name for name, _, _ in FACTORS])
def test_whole_attributes_leave_integers_integers(name: str, operands: list[Array], attrs: dict[str, Any]) -> None:
    created = found(name, *operands, **attrs)
    wide = found(
        name, *(o.astype(np.float64) if i != 1 or name != "index_add" else o for i, o in enumerate(operands)), **attrs
    )
    assert created.dtype == operands[0].dtype
    np.testing.assert_array_equal(created, wide)


@each_row(("name", "operands", "attrs"), FACTORS[:4], ids=[name for name, _, _ in FACTORS[:4]])
def test_fractions_beside_integers_are_refused(name: str, operands: list[Array], attrs: dict[str, Any]) -> None:
    with pytest.raises(DTypeError, match="float32"):
        found(name, *operands, **dict.fromkeys(attrs, 0.5))


def test_operators_on_bits_are_logical_between_truth_values_alone() -> None:
    x, above = tensor(WHOLE), tensor(WHOLE) > 5
    assert [(x & 3).numpy().tolist(), (3 | x).numpy().tolist(), (~x).numpy().tolist()] == [[2, 1], [7, 7], [-7, -6]]
    assert OPS["bitwise_xor"](x, 1).numpy().tolist() == (x.__xor__(1)).numpy().tolist() == [7, 4]
    assert [(above & True).numpy().tolist(), (~above).numpy().tolist()] == [[True, False], [False, True]]
    with pytest.raises(DTypeError, match="bits need integers"):
        tensor([1.5]) & above


def test_powers_have_the_type_pytorch_gives() -> None:
    large = tensor(np.array([2**40]))
    assert (large**2.0).numpy().tolist() == [np.float32(2.0**80)]
    assert (tensor(WHOLE) ** 2).dtype == np.int64
    assert (tensor(np.array([True])) ** 2).dtype == np.int64
    assert OPS["logsumexp"](np.array([1, 2, 3])).item() == pytest.approx(3.4076059, rel=1e-7)
    assert found("float_power", 2, np.array([-1, 3])).tolist() == [0.5, 8.0]


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_unsigned_integers_that_are_not_computed_with_are_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(DTypeError, match=r"not supported: cast them to int(32|64)"):
        tensor(np.ones(2, name))


def test_a_division_by_zero_without_its_fraction_has_gradient_zero(derive: Callable[..., Any]) -> None:
    for name in ("trunc_divide", "floor_divide"):
        _, slopes = derive(OPS[name], [1.0, 0.0, -2.0], [0.0, 0.0, 0.0])
        assert [slope.tolist() for slope in slopes] == [[0, 0, 0], [0, 0, 0]]
    lowest = np.array([-128, -7, 7], np.int8)
    assert found("trunc_divide", lowest, np.array([-1, 2, -2], np.int8)).tolist() == [-128, -3, -3]


def test_the_second_derivative_of_a_product_of_nothing_is_nothing() -> None:
    assert engine.hessian(lambda x: OPS["prod"](x))(np.zeros(0)).shape == (0, 0)


@pytest.mark.parametrize("transform", [engine.grad, engine.jacobian, engine.hessian])
def test_a_number_of_numpys_is_differentiated_in_its_own_type(transform: Callable[..., Any]) -> None:
    slope = transform(lambda x: x * x * x)(np.float64(0.1))
    assert slope.dtype == np.float64
    assert slope.item() == pytest.approx({engine.hessian: 0.6}.get(transform, 0.03), rel=1e-15)


def test_nothing_in_a_list_of_values_is_refused() -> None:
    for operands in ([np.ones(2), None], [None, np.ones(2)]):
        with pytest.raises(ShapeError, match="null"):
            OPS["concat"](*operands)


def test_an_optional_input_may_be_none_in_a_captured_function() -> None:
    def function(x: Value, w: Value) -> dict[str, Value]:
        return {"loss": OPS["sum"](OPS["linear"](x, w, None))}

    created = engine.capture(function, inputs={"x": ["n", 3]}, parameters={"w": {"shape": [2, 3]}})
    assert [node.op for node in created.nodes] == ["linear", "sum"]


def test_joining_with_an_empty_vector_may_be_batched() -> None:
    x, nothing = np.arange(12.0).reshape(3, 2, 2), np.zeros(0)
    for function in (lambda a: OPS["concat"](a, nothing, axis=1), lambda a: OPS["concat"](nothing, a, axis=1)):
        np.testing.assert_array_equal(engine.vmap(function)(x).numpy(), x)
    both = engine.vmap(lambda a, b: OPS["concat"](b, a, axis=1))
    np.testing.assert_array_equal(both(x, np.zeros((3, 0))).numpy(), x)


def test_the_power_0_of_a_matrix_has_a_gradient_of_zeros() -> None:
    slope = engine.grad(lambda x: OPS["sum"](OPS["matrix_power"](x, exponent=0)))(np.ones((2, 2)))
    assert slope.numpy().tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("place", [1, 2])
def test_negative_weights_of_covariances_are_refused(place: int) -> None:
    weights: list[Any] = [None, np.array([1, -1, 2])] if place == 1 else [np.array([1, 1, 2]), np.array([1.0, -1, 2])]
    with pytest.raises(AttributeValueError, match="weights must not be negative, got -1"):
        OPS["cov"](np.ones((2, 3)), *reversed(weights) if place == 1 else weights)


def test_a_number_is_indexed_as_a_vector_of_one() -> None:
    x, index = tensor(np.array(3.0), requires_grad=True), np.array([0, 0])
    OPS["gather"](x, index, axis=0).sum().backward()
    assert x.grad is not None
    assert x.grad.item() == 2
    assert found("index_add", x, np.array(0), np.array(2.0)).shape == ()
    with pytest.raises(EngineError, match="out of range"):
        OPS["gather"](x, np.array([1]), axis=0)
