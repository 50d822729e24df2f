"""Compiled products of rows by the matrix of their group against NumPy's, and what is no group."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from engine.core.value import Array
from tests.support.rows import each_row

RunBoth = Callable[..., tuple[list[Array], list[Array]]]
SIZES = [(9, 4, 5, 7), (64, 8, 16, 32), (3, 6, 2, 5), (1, 3, 1, 1)]
"""Rows, groups, and the numbers in a row of both operands; with groups that have no row."""


def operands(rows: int, groups: int, first: int, second: int, dtype: str) -> tuple[Array, Array, Array, Array]:
    """Draw two lists of rows, matrices, and groups, counted from the end too."""
    draw = np.random.default_rng([rows, groups])
    x, y = draw.standard_normal((rows, first)), draw.standard_normal((rows, second))
    matrices, index = draw.standard_normal((groups, first, second)), draw.integers(-groups, groups, rows)
    return x.astype(dtype), y.astype(dtype), matrices.astype(dtype), index


@each_row("kind", ["int32", "int64"])
@each_row("dtype", ["float32", "float64"])
@each_row("size", SIZES)
def test_products_and_their_gradient_are_those_of_numpy(
    size: tuple[int, int, int, int], dtype: str, kind: str, run_both: RunBoth
) -> None:
    x, y, matrices, index = operands(*size, dtype)
    index, rtol = index.astype(kind), 1e-5 if dtype == "float32" else 1e-12
    stored_across = np.ascontiguousarray(matrices.transpose(0, 2, 1)).transpose(0, 2, 1)
    for weight in (matrices, stored_across):
        ((actual,), (wanted,)) = run_both("grouped_product", x, weight, index)
        np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=rtol)
    ((actual,), (wanted,)) = run_both("grouped_outer", x, y, index, groups=size[1])
    np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("wrong", [4, -5, 2**40])
def test_what_is_no_group_is_reported(wrong: int, compiled: Callable[..., bool]) -> None:
    """The executor then calls NumPy's kernel, which raises the error."""
    x, y, matrices, index = operands(9, 4, 5, 7, "float64")
    assert compiled("grouped_product", [x, matrices, index], [np.zeros((9, 7))], {})
    index[3] = wrong
    assert not compiled("grouped_product", [x, matrices, index], [np.zeros((9, 7))], {})
    assert not compiled("grouped_outer", [x, y, index], [np.zeros((4, 5, 7))], {"groups": 4})
