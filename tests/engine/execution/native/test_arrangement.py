"""Compiled copies, choices and turns against NumPy's: bits are moved, none is changed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest

from engine.core.value import Array
from engine.execution.native.kernels.every_second import copy_pairwise
from engine.execution.native.kernels.transposing import COPY as TRANSPOSED_COPY
from engine.execution.native.lowering import Work
from engine.execution.native.packing import calls_of
from tests.support.rows import each_row

RunBoth = Callable[..., tuple[list[Array], list[Array]]]
DTYPES = ("float32", "float64", "int32", "int64")


def numbers(*shape: int, dtype: str = "float64") -> Array:
    """Draw numbers."""
    return (np.random.default_rng([*shape]).standard_normal(shape) * 100).astype(dtype)


@each_row("dtype", DTYPES)
def test_what_lies_scattered_is_put_in_order(dtype: str, run_both: RunBoth) -> None:
    """Reshape of views that no window can express."""
    x = numbers(2, 3, 4, 5, dtype=dtype)
    views = {(2, 4, 15): x.transpose(0, 2, 1, 3), (120,): x.T, (6, 10): x[:, :, ::2], (1, 5): x[0, 0].T[:, 1]}
    for shape, view in views.items():
        ((actual,), (wanted,)) = run_both("reshape", view, shape=shape)
        np.testing.assert_array_equal(actual, wanted)


@each_row("dtype", DTYPES)
@each_row("shape", [(8, 8), (9, 33), (64, 17), (2, 40, 19), (3, 2, 20, 31)])
def test_rows_become_columns(shape: tuple[int, ...], dtype: str, run_both: RunBoth) -> None:
    """Planes of any order of axes, and windows of them; short ones too."""
    x = numbers(*shape, dtype=dtype)
    for view in map(x.transpose, permutations(range(x.ndim))):
        for part in (view, view[..., 3:], view[1:]):
            ((actual,), (wanted,)) = run_both("copy", part)
            np.testing.assert_array_equal(actual, wanted)


def test_a_transposed_copy_goes_by_registers() -> None:
    x = numbers(64, 48, dtype="float32")
    (call,) = calls_of("copy", Work([x.T], [np.empty((48, 64), np.float32)], {})) or ()
    assert call.kernel is TRANSPOSED_COPY


@each_row("dtype", DTYPES)
@each_row("axis", [0, 1, 2, -1])
def test_arrays_are_joined(axis: int, dtype: str, run_both: RunBoth) -> None:
    """Along every axis, views too, and empty ones with any."""
    x = numbers(3, 4, 5, dtype=dtype)
    part = x.swapaxes(0, axis)[:2].swapaxes(0, axis)
    ((actual,), (wanted,)) = run_both("concat", x, part, np.zeros(0, dtype), x[::-1], axis=axis)
    np.testing.assert_array_equal(actual, wanted)


@each_row("dtype", DTYPES)
@each_row(("axis", "start", "step"), [(0, 0, 1), (1, 2, 1), (2, 3, 1), (2, 1, 2), (1, 8, 1)])
def test_a_slice_is_put_back_between_zeros(axis: int, start: int, step: int, dtype: str, run_both: RunBoth) -> None:
    """At either end, in the middle, and in steps."""
    x = numbers(3, 4, 5, dtype=dtype)
    ((actual,), (wanted,)) = run_both("slice_scatter", x, axis=axis, extent=12, start=start, step=step)
    np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_are_chosen_by_a_condition(dtype: str, run_both: RunBoth) -> None:
    """Of rows and of single numbers; what is not chosen may be anything."""
    x, y = numbers(4, 3, 37, dtype=dtype), np.full((4, 3, 37), np.nan, dtype)
    one, column = np.array(7, dtype), numbers(3, 1, dtype=dtype)
    every, keys, rows = x > 0, np.arange(37) < 9, np.arange(3)[:, None] < 1
    for condition, a, b in [
        (every, x, y), (keys, x, one), (keys, one, x), (rows, x, y), (every, one, column),
        (every.copy(order="F"), x, y), (np.array(True), x, y), (every, x[::-1], np.asfortranarray(y)),
        (every, one, one), (every, column, one), (rows, one, x), (rows, column, x), (rows, x, x[:, :, ::-1]),
    ]:  # fmt: skip
        ((actual,), (wanted,)) = run_both("where", condition, a, b)
        np.testing.assert_array_equal(actual, wanted)


@each_row("dtype", ["float32", "float64"])
@each_row("mode", ["normal", "neox"])
@each_row("inverse", [False, True])
def test_pairs_are_turned(inverse: bool, mode: str, dtype: str, run_both: RunBoth) -> None:
    """Of heads that share angles, as views, with numbers beyond the pairs."""
    x = numbers(2, 6, 3, 11, dtype=dtype).transpose(0, 2, 1, 3)
    angles = numbers(6, 4)
    cosines, sines = np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)
    ((actual,), (wanted,)) = run_both("rotate_pairs", x, cosines, sines, mode=mode, inverse=inverse)
    np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-5)


@each_row("extent", [16, 17, 33, 100])
def test_every_second_number_is_copied_by_registers(extent: int, run_both: RunBoth) -> None:
    whole = numbers(3, 2 * extent, dtype="float32")
    x, neighbours = whole[:, 1::2], whole[:, :extent]
    (call,) = calls_of("copy", Work([x], [np.zeros((3, extent), np.float32)], {})) or ()
    assert call.kernel is copy_pairwise
    ((actual,), (wanted,)) = run_both("mul", x, neighbours)
    np.testing.assert_array_equal(actual, wanted)
    ((actual,), (wanted,)) = run_both("concat", whole[..., None], -whole[..., None], axis=-1)
    np.testing.assert_array_equal(actual, wanted)
