"""Leaves made from a shape: their types, their gradients, and the seed of the random ones."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import DeviceError, DTypeError, ShapeError

MAKERS = [
    engine.zeros,
    engine.ones,
    engine.rand,
    engine.randn,
    lambda shape, **options: engine.full(shape, 3, **options),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("dtype", [None, "float64", "float16"])
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


@pytest.mark.parametrize("make", [engine.zeros, engine.ones, engine.rand, engine.randn])
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
