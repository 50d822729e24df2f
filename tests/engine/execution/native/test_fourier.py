"""Compiled discrete Fourier transforms against NumPy's in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from engine.core.value import Array
from engine.execution.native.lowering import LOWERINGS, Work
from tests.support.rows import each_row

SHAPES = [
    ((5, 64), 1),
    ((33, 12), 1),
    ((7, 49), -1),
    ((3, 28, 5), 1),
    ((2, 16, 32), 1),
    ((2, 5, 19), 1),
    ((20, 360), 1),
    ((2, 2), 0),
    ((9, 2100), 1),
]
"""Shapes and axes: all radices, alone and together; fewer and more transforms than lie beside one another."""
ULPS = 4


@each_row("inverse", [False, True])
@each_row("dtype", ["float32", "float64"])
@each_row(("shape", "axis"), SHAPES)
def test_transforms_are_those_of_numpy(
    shape: tuple[int, ...], axis: int, dtype: str, inverse: bool, compiled: Callable[..., bool]
) -> None:
    draw = np.random.default_rng([*shape])
    real, imaginary = (draw.standard_normal(shape).astype(dtype) for _ in range(2))
    made = [np.full(shape, np.nan, dtype) for _ in range(2)]
    assert compiled("dft", [real, imaginary], made, {"axis": axis, "inverse": inverse})
    x = real.astype(np.float64) + 1j * imaginary
    wanted = np.fft.ifft(x, axis=axis, norm="forward") if inverse else np.fft.fft(x, axis=axis)
    error = np.abs(made[0] + 1j * made[1].astype(np.float64) - wanted).max()
    assert error <= ULPS * np.finfo(dtype).eps * np.abs(wanted).max()


@pytest.mark.parametrize("shape", [(32, 22), (16, 1), (16, 2**15), (2, 4096)])
def test_other_lengths_are_left_to_numpy(shape: tuple[int, int]) -> None:
    """With a large prime factor; of one element; too long for the near caches; too few of a long one."""
    x: Array = np.zeros(shape, np.float32)
    assert LOWERINGS["dft"](Work([x, x], [x.copy(), x.copy()], {"axis": 1, "inverse": False})) is None
