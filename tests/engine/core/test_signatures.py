"""Signatures of calls: which calls share one, which have none, and that they are bounded in number."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Mapping

import numpy as np
import pytest

import engine
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.signatures import SIGNATURES_MAX, Key, call_signed
from engine.core.value import Signature, Value, tensor
from engine.ops import OPS
from tests.support.rows import each_row


def signatures(name: str) -> dict[Key, Signature | None]:
    return OPS[name].signatures


def call_key(operands: tuple[object, ...], given: Mapping[str, object]) -> Key | None:
    """Return the key by which a call asks for its signature; None if it asks for none."""
    known = OPS["sum"].signatures
    known.clear()
    assert call_signed(OPS["sum"], lambda *_: None, operands, given) is None
    keys = list(known)
    known.clear()
    return keys[0] if keys else None


def vector(*numbers: float) -> Value:
    return tensor(np.array(numbers, np.float32))


@each_row(
    ("first", "second"),
    [
        ({"axis": 1}, {"axis": True}),
        ({"axis": 1}, {"axis": 1.0}),
        ({"axis": (1, 0)}, {"axis": (1, 2)}),
        ({"keepdims": False}, {"keepdims": 0}),
        ({"value": 0.5}, {"value": 0.25}),
    ],
)
def test_attributes_of_another_type_or_value_are_another_key(
    first: dict[str, object], second: dict[str, object]
) -> None:
    x = vector(1.0)
    assert call_key((x,), first) == call_key((x,), dict(first))
    assert call_key((x,), first) != call_key((x,), second)


@pytest.mark.parametrize("value", [0.0, -0.0, float("nan"), [1], (1, True), ((1, 2), (3, 4.0)), np.float64(1)])
def test_attributes_whose_equality_says_too_little_have_no_key(value: object) -> None:
    assert call_key((vector(1.0),), {"value": value}) is None


@pytest.mark.parametrize("operand", [True, 2**53, -(2**53), np.ones(2), None, [1.0]])
def test_operands_that_are_neither_values_nor_exact_numbers_have_no_key(operand: object) -> None:
    assert call_key((operand,), {}) is None


def test_values_of_inference_and_of_graphs_have_no_key() -> None:
    with engine.inference_mode():
        made = vector(1.0) + vector(1.0)
    assert call_key((made,), {}) is None
    assert call_key((Value((1,), np.dtype("float32"), None),), {}) is None


def test_calls_of_one_kind_share_a_signature() -> None:
    known = signatures("hypot")
    known.clear()
    for number in (1.0, 2.0, 3.0):
        OPS["hypot"](vector(number), 4.0)
    assert len(known) == 1
    assert OPS["hypot"](vector(3.0), 4.0).numpy().tolist() == [5.0]


@each_row(
    ("number", "dtype"),
    [(1e300, "float32"), (3, "float32"), (0.1, "float64"), (2**53 - 1, "float32"), (-(2**40), "float64")],
)
def test_a_number_beside_a_value_is_rounded_alike_in_every_call(number: float, dtype: str) -> None:
    x = tensor(np.array([0.1, -3.0], dtype))
    first, second = OPS["maximum"](x, number), OPS["maximum"](x, number)
    assert first.dtype == second.dtype == x.dtype
    assert first.numpy().tobytes() == second.numpy().tobytes()


def test_an_integer_array_beside_a_fraction_is_promoted_in_every_call() -> None:
    x = tensor(np.array([1, 2]))
    assert [(x * 0.5).numpy().tolist() for _ in range(3)] == [[0.5, 1.0]] * 3
    with pytest.raises(DTypeError):
        OPS["neg"](tensor(np.array([True])))


def test_a_shape_rule_that_reads_data_is_asked_in_every_call() -> None:
    assert OPS["one_hot"](tensor(np.array([0, 1]))).shape == (2, 2)
    assert OPS["one_hot"](tensor(np.array([0, 4]))).shape == (2, 5)


def test_a_call_that_is_wrong_is_refused_every_time_and_an_error_of_a_kernel_names_the_op() -> None:
    for _ in range(3):
        with pytest.raises(ShapeError, match="do not broadcast"):
            vector(1.0, 2.0) + vector(1.0, 2.0, 3.0)
        with pytest.raises(AttributeValueError):
            OPS["sum"](vector(1.0), axis=True)
    x = tensor(np.array([2, 3]))
    for exponent in (2, -1):
        power = tensor(np.array([exponent, exponent]))
        if exponent > 0:
            assert OPS["power"](x, power).numpy().tolist() == [4, 9]
        else:
            with pytest.raises(ShapeError, match="negative"):
                OPS["power"](x, power)


def test_an_op_keeps_a_bounded_number_of_signatures() -> None:
    known = signatures("neg")
    for extent in range(SIGNATURES_MAX + 10):
        OPS["neg"](tensor(np.zeros((extent, 1))))
    assert 0 < len(known) <= SIGNATURES_MAX


def test_signatures_keep_no_arrays_alive() -> None:
    array = np.ones((3, 5))
    alive = weakref.ref(array)
    x = Value(array.shape, array.dtype, array, requires_grad=True)
    for _ in range(2):
        (x * 2.0).sum().backward()
    del array, x
    gc.collect()
    assert alive() is None
