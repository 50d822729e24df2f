"""Systems of equations, inverses and determinants by compiled kernels: NumPy's bits, and singular matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.value import Array
from tests.support.rows import each_row

RunBoth = Callable[..., tuple[list[Array], list[Array]]]
Compiled = Callable[..., bool]
SIZES = (1, 2, 5, 40)


def matrices(dtype: str, *shape: int) -> Array:
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


@each_row("dtype", ("float32", "float64"))
@each_row("n", SIZES)
def test_inverses_and_solutions_have_the_bits_of_numpy(n: int, dtype: str, run_both: RunBoth) -> None:
    a, b = matrices(dtype, 3, n, n), matrices(dtype, 3, n, 4)
    for op, operands in (
        ("inv", [a]),
        ("solve_matrix", [a, b]),
        ("solve_matrix", [a[1], b]),
        ("solve_matrix", [a, b[2]]),
    ):
        (found,), (wanted,) = run_both(op, *operands)
        np.testing.assert_array_equal(found, wanted)


@each_row("dtype", ("float32", "float64"))
@each_row("n", SIZES)
def test_determinants_are_those_of_numpy(n: int, dtype: str, run_both: RunBoth) -> None:
    x = matrices(dtype, 6, n, n)
    for op in ("det", "slogdet"):
        for found, wanted in zip(*run_both(op, x), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4 if dtype == "float32" else 1e-12)


SINGULAR = np.array([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]])


def test_singular_matrices_are_reported_or_get_their_results(run_both: RunBoth, compiled: Compiled) -> None:
    assert not compiled("inv", [SINGULAR], [np.empty_like(SINGULAR)], {"check": True})
    assert not compiled("solve_matrix", [SINGULAR, SINGULAR], [np.empty_like(SINGULAR)], {"check": True})
    attrs: dict[str, Any] = {"check": False}
    for op, operands in (("inv", [SINGULAR]), ("solve_matrix", [SINGULAR, SINGULAR])):
        (found,), (wanted,) = run_both(op, *operands, **attrs)
        np.testing.assert_array_equal(found, wanted)
    signs, logarithms = run_both("slogdet", SINGULAR)[0]
    assert signs.tolist() == [0.0, 1.0]
    assert logarithms[0] == -np.inf
    assert run_both("det", SINGULAR)[0][0].tolist() == [0.0, np.exp(np.log(2.0))]
