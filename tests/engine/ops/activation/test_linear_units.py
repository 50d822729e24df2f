"""Gated linear units: the packed and the split form, which half is the gate, odd extents."""

from __future__ import annotations

import numpy as np
import pytest

from engine.core.errors import ShapeError
from engine.ops import OPS
from tests.support.rows import each_row

UNITS = {"glu": "sigmoid", "reglu": "relu", "geglu": "gelu", "swiglu": "silu"}
X = np.array([[1.0, -2.0, 3.0, 0.5]])
LEFT, RIGHT = X[:, :2], X[:, 2:]


def _gated(name: str, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """PyTorch's glu passes the second half through the gate function, the others the first, as ggml does."""
    gate, rest = (second, first) if name == "glu" else (first, second)
    return np.asarray(OPS[UNITS[name]](gate).numpy() * rest)


@each_row("name", UNITS)
def test_packed_halves_are_the_two_inputs(name: str) -> None:
    wanted = _gated(name, LEFT, RIGHT)
    np.testing.assert_array_equal(OPS[name](X).numpy(), wanted)
    np.testing.assert_array_equal(OPS[name](LEFT, RIGHT).numpy(), wanted)
    np.testing.assert_array_equal(OPS[name](X.T.copy(), axis=0).numpy(), wanted.T)


@pytest.mark.parametrize("name", ["reglu", "geglu", "swiglu"])
def test_swapping_takes_the_second_half_as_the_gate(name: str) -> None:
    np.testing.assert_array_equal(OPS[name](X, swapped=True).numpy(), _gated(name, RIGHT, LEFT))


def test_geglu_knows_the_forms_of_gelu() -> None:
    for form in ("none", "tanh", "quick"):
        wanted = OPS["gelu"](LEFT, approximate=form).numpy() * RIGHT
        np.testing.assert_array_equal(OPS["geglu"](X, approximate=form).numpy(), wanted)


@each_row("name", UNITS)
def test_halves_must_be_equal(name: str) -> None:
    with pytest.raises(ShapeError, match=rf"{name}: axis -1 of shape \[2, 3\] must have an even extent"):
        OPS[name](np.ones((2, 3)))
    with pytest.raises(ShapeError, match=rf"{name}: the two inputs have shapes \[2\] and \[3\]"):
        OPS[name](np.ones(2), np.ones(3))
