"""Elements read, written and added up at several indices at a time, by compiled kernels against NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from engine.core.value import Array
from tests.engine.execution.native.test_tables import DTYPES, FEW_USED, INDICES, RunBoth, indices, numbers
from tests.support.rows import each_row

SHAPE = (4, 6, 5)
INDEXED = [
    ((0,), [(3, 2)]),
    ((1,), [(7,)]),
    ((-1,), [(3, 2)]),
    ((0, 1), [(3, 2), (2,)]),
    ((1, 2), [(3, 1), (1, 4)]),
    ((0, 1, 2), [(9,), (9,), ()]),
]
"""Axes, and the shapes of the indices along them."""


def drawn(axes: Sequence[int], shapes: Sequence[tuple[int, ...]], kind: str) -> list[Array]:
    """Draw indices, counted from the end too."""
    return [
        np.asarray(indices(-SHAPE[axis], SHAPE[axis], *shape)).astype(kind)
        for axis, shape in zip(axes, shapes, strict=True)
    ]


@each_row("kind", INDICES)
@each_row("dtype", DTYPES)
@each_row(("axes", "shapes"), INDEXED)
def test_elements_are_read_written_and_added_up(
    dtype: str, kind: str, axes: tuple[int, ...], shapes: list[tuple[int, ...]], run_both: RunBoth
) -> None:
    found = drawn(axes, shapes, kind)
    ((actual,), (wanted,)) = run_both("index_get", numbers(*SHAPE).astype(dtype), *found, axes=axes)
    np.testing.assert_array_equal(actual, wanted)
    x = numbers(*wanted.shape).astype(dtype)
    ((actual,), (wanted,)) = run_both("index_scatter", x, *found, axes=axes, shape=SHAPE)
    np.testing.assert_allclose(actual, wanted, rtol=1e-6, atol=1e-6)
    ((actual,), (wanted,)) = run_both("index_set", numbers(*SHAPE).astype(dtype), x, *found, axes=axes, unsafe=True)
    np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize(("shape", "axes"), [((FEW_USED, 5), (0,)), ((200, 200, 5), (0, 1)), ((2, FEW_USED, 40), (1,))])
def test_few_elements_are_added_to_large_arrays(
    shape: tuple[int, ...], axes: tuple[int, ...], run_both: RunBoth
) -> None:
    """Once by one place for two axes; and to more than one array, for each of which there is no sum of each number."""
    found = [indices(0, shape[axis], 9) for axis in axes]
    behind = [extent for axis, extent in enumerate(shape) if axis not in axes]
    x = numbers(9, *behind) if axes[0] == 0 else numbers(behind[0], 9, *behind[1:])
    ((actual,), (wanted,)) = run_both("index_scatter", x, *found, axes=axes, shape=shape)
    np.testing.assert_array_equal(actual, wanted)


@each_row("wrong", [6, -7, 2**40])
@each_row("axes", [(1,), (0, 1)])
def test_an_index_outside_is_reported(axes: tuple[int, ...], wrong: int, compiled: Callable[..., bool]) -> None:
    """And nothing beyond the memory is touched; the executor then calls NumPy's kernel, which raises the error."""
    found = [indices(0, SHAPE[axis], 3) for axis in axes]
    picked = (3, 5) if len(axes) == 2 else (4, 3, 5)
    assert compiled("index_get", [numbers(*SHAPE), *found], [np.zeros(picked)], {"axes": axes})
    found[-1][1] = wrong
    assert not compiled("index_get", [numbers(*SHAPE), *found], [np.zeros(picked)], {"axes": axes})
    written = [numbers(*SHAPE), numbers(*picked), *found]
    assert not compiled("index_set", written, [np.zeros(SHAPE)], {"axes": axes, "unsafe": True})
    attrs = {"axes": axes, "shape": SHAPE}
    assert not compiled("index_scatter", [numbers(*picked), *found], [np.zeros(SHAPE)], attrs)
