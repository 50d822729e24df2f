"""Leaves made from a shape: their types, their gradients, and the seed of the random ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import engine
from engine.core.errors import AttributeValueError, DeviceError, DTypeError, ShapeError
from tests.support.rows import each_row

MAKERS = [
    engine.zeros,
    engine.ones,
    engine.rand,
    engine.randn,
    lambda shape, **options: engine.full(shape, 3, **options),
]


@each_row("make", MAKERS)
@each_row("dtype", [None, "float64", "float16"])
def test_a_leaf_has_the_shape_and_type_asked_for(make: object, dtype: str | None) -> None:
    leaf = make((2, 3), dtype=dtype, requires_grad=True, name="w", device="cpu")
    assert (leaf.shape, leaf.dtype, leaf.name) == ((2, 3), dtype or "float32", "w")
    assert leaf.numpy().dtype == leaf.dtype
    assert (leaf.requires_grad, leaf.is_leaf) == (True, True)
    leaf.sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.numpy().tolist() == [[1, 1, 1], [1, 1, 1]]
    assert not make((2,)).requires_grad


def test_the_numbers_are_what_the_name_says() -> None:
    assert engine.zeros((2,)).numpy().tolist() == [0, 0]
    assert engine.ones((2,), dtype="int64").numpy().tolist() == [1, 1]
    assert engine.full((2,), 2.5).numpy().tolist() == [2.5, 2.5]
    even, normal = engine.rand((4000,)).numpy(), engine.randn((4000,)).numpy()
    assert even.min() >= 0
    assert even.max() < 1
    assert abs(even.mean() - 0.5) < 0.03
    assert normal.min() < -2
    assert abs(normal.std() - 1) < 0.05


def test_equal_seeds_give_equal_leaves() -> None:
    drawn = []
    for number in (1, 1, 2):
        engine.seed(number)
        drawn.append((engine.rand((3,)).numpy().tolist(), engine.randn((3,)).numpy().tolist()))
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


@each_row("make", [engine.zeros, engine.ones, engine.rand, engine.randn])
def test_what_cannot_be_made_is_refused(make: object) -> None:
    with pytest.raises(DTypeError, match="only floating values can require gradients; this one is int64"):
        make((2,), dtype="int64", requires_grad=True)
    with pytest.raises(ShapeError, match="negative extent"):
        make((2, -1))
    with pytest.raises(DeviceError):
        make((2,), device="gpu")
    with pytest.raises(DTypeError, match="not one of"):
        make((2,), dtype="complex64")


def test_a_leaf_like_another_takes_its_shape_and_type() -> None:
    model = engine.tensor(np.arange(6).reshape(2, 3))
    assert engine.zeros_like(model).spec == model.spec
    assert engine.ones_like(model, dtype="float64", requires_grad=True).requires_grad


@pytest.fixture(autouse=True)
def _defaults() -> Iterator[None]:
    before = engine.get_default_dtype()
    yield
    engine.set_default_dtype(before)


def test_flat_numbers_are_poured_by_columns_or_by_rows():
    numbers = [k / 6 for k in range(1, 7)]
    columns = engine.tensor(numbers, shape=(2, -1), layout="col", dtype="float64")
    np.testing.assert_allclose(columns.numpy(), [[1 / 6, 3 / 6, 5 / 6], [2 / 6, 4 / 6, 1]])
    rows = engine.tensor(numbers, shape=(2, 3), dtype="float64")
    np.testing.assert_allclose(rows.numpy(), [[1 / 6, 2 / 6, 3 / 6], [4 / 6, 5 / 6, 1]])


def test_a_matrix_is_the_same_in_both_layouts():
    matrix = np.arange(6.0).reshape(2, 3)
    for layout in ("row", "col"):
        np.testing.assert_array_equal(engine.tensor(matrix, layout=layout).numpy(), matrix)


def test_a_bare_vector_is_a_column_under_col_and_is_not_trained():
    x, w = engine.tensor([1.0, 2.0, 3.0], layout="col"), engine.parameter([[1.0]])
    assert x.shape == (3, 1)
    (x @ w).sum().backward()
    assert x.grad is None
    assert w.grad.numpy().tolist() == [[6]]


def test_a_parameter_gets_a_gradient():
    w = engine.parameter([1.0, 2.0], name="w")
    (w * w).sum().backward()
    assert w.requires_grad
    assert w.grad.numpy().tolist() == [2, 4]


@each_row(("shape", "data"), [((2, 2), [1.0] * 6), ((4, -1), [1.0] * 6), ((-1, -1), [1.0]), ((2,), [[1.0, 2.0]])])
def test_numbers_that_do_not_fill_a_shape_are_refused(shape, data):
    with pytest.raises(ShapeError):
        engine.tensor(data, shape=shape)


def test_an_unknown_layout_is_refused():
    with pytest.raises(AttributeValueError, match="did you mean 'col'"):
        engine.tensor([1.0], layout="cols")


def test_the_default_dtype_is_that_of_later_floats_and_setting_it_returns_the_previous():
    assert engine.set_default_dtype("float64") == "float32"
    assert engine.tensor([1.0]).dtype == np.float64
    assert engine.tensor([1]).dtype == np.int64
    assert engine.tensor(np.ones(1, "float32")).dtype == np.float32
    assert engine.set_default_dtype("float16") == "float64"
    assert engine.tensor([1.0]).dtype == np.float16
    assert engine.parameter([1.0]).dtype == np.float32
    assert engine.parameter([1.0], dtype="float16").dtype == np.float16
    with pytest.raises(DTypeError, match="floating"):
        engine.set_default_dtype("int64")


def test_the_defaults_are_the_threads_own():
    engine.set_default_dtype("float64")
    seen = []
    thread = threading.Thread(target=lambda: seen.append(engine.get_default_dtype()))
    thread.start()
    thread.join()
    assert seen == ["float32"]


def test_another_device_is_a_typed_error_that_a_caller_can_fall_back_from():
    assert engine.set_default_device("cpu") == "cpu"
    with pytest.raises(DeviceError, match="'gpu'"):
        engine.set_default_device("gpu")
    with pytest.raises(DeviceError, match="'cuda'"):
        engine.tensor([1.0], device="cuda")
    assert engine.get_default_device() == "cpu"
    assert engine.tensor([1.0], device="cpu").item() == 1


def test_reshaping_by_columns_is_rs_and_differentiable():
    numbers = np.arange(1.0, 7.0)
    x = engine.parameter(numbers, shape=(2, 3), layout="col")
    y = engine.reshape_columns(x, shape=(3, -1))
    np.testing.assert_array_equal(y.numpy(), numbers.reshape((3, 2), order="F"))
    weights = np.arange(6.0).reshape(3, 2)
    (y * weights).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), weights.reshape((2, 3), order="F"))
    cube = engine.reshape_columns(engine.tensor(np.arange(24.0).reshape(2, 3, 4)), shape=(4, 6))
    np.testing.assert_array_equal(cube.numpy(), np.arange(24.0).reshape(2, 3, 4).reshape((4, 6), order="F"))
