"""Compiled elementary functions against extended precision, in units in the last place, and where they have edges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from engine.core.value import Array
from tests.support.elementary import FUNCTIONS, errors, points
from tests.support.rows import each_row

RunBoth = Callable[..., tuple[list[Array], list[Array]]]

EDGES = [
    *(0.0, -0.0, 1e-320, -1e-320, 0.5, -0.5, 0.625, -0.625, 1.0, -1.0, 2.0, -3.0, -3e10, 1e300, 1.7e308),
    *(np.inf, -np.inf, np.nan),
]
SIGNED = ("expm1", "tanh", "asinh", "sinh", "atan", "atan2", "asin", "atanh", "erf", "erfinv", "cbrt")
"""Functions whose zeros keep their sign."""
BEYOND_NUMPY = 2.0
"""Units in the last place by which an error may be greater than that of NumPy's function."""


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="this machine has no extended precision")
@each_row("dtype", ("float64", "float32"))
@each_row("name", list(FUNCTIONS))
def test_functions_are_right_to_the_last_places(name: str, dtype: str, run_both: RunBoth) -> None:
    function = FUNCTIONS[name]
    operands = points(function, dtype, 4000)
    (found,), (plain,) = run_both(function.op or name, *operands, **function.attrs)
    error, plain_error = errors(function, operands, found), errors(function, operands, plain)
    worst = error.argmax()
    assert error[worst] <= (function.ulp64 if dtype == "float64" else function.ulp32), [x[worst] for x in operands]
    assert error[worst] <= plain_error.max() + BEYOND_NUMPY


@each_row("dtype", ("float64", "float32"))
@each_row("name", list(FUNCTIONS))
def test_functions_have_the_edges_of_numpys(name: str, dtype: str, run_both: RunBoth) -> None:
    function = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        edges = np.array(EDGES, dtype)
        operands = [x.copy() for x in np.meshgrid(*[edges] * function.operands)]
        (found,), (plain,) = run_both(function.op or name, *operands, **function.attrs)
    np.testing.assert_allclose(found, plain, rtol=8 * np.finfo(dtype).eps, atol=2 * np.finfo(dtype).smallest_normal)
    if name in SIGNED:
        number = ~np.isnan(plain)
        np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(plain[number]))
