"""Compiled elementary functions against NumPy's in extended precision, in units in the last place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.value import Array
from tests.support.rows import each_row

RunBoth = Callable[..., tuple[list[Array], list[Array]]]

SIGNED = [0.0, -0.0, 1e-320, -1e-320, 0.5, -0.5, 0.625, -0.625, np.inf, -np.inf, np.nan]
FUNCTIONS: dict[str, tuple[tuple[float, float], float]] = {
    "cos": ((-400_000.0, 400_000.0), 1.5),
    "exp": ((-700.0, 700.0), 2.0),
    "expm1": ((-40.0, 700.0), 1.5),
    "log": ((0.0, 1e6), 1.0),
    "log1p": ((-0.9, 1e6), 2.0),
    "logsigmoid": ((-700.0, 40.0), 3.0),
    "sigmoid": ((-700.0, 40.0), 2.5),
    "sin": ((-400_000.0, 400_000.0), 1.5),
    "tan": ((-400_000.0, 400_000.0), 2.5),
    "tanh": ((-22.0, 22.0), 1.5),
}
"""The range of each, and the error in units in the last place that float64 may have there."""


def exact(op: str, x: Array) -> Array:
    """Return the function in extended precision."""
    wide = x.astype(np.longdouble)
    with np.errstate(all="ignore"):
        if op == "logsigmoid":
            return np.minimum(wide, 0) - np.log1p(np.exp(-abs(wide)))
        found: Array = 1 / (1 + np.exp(-wide)) if op == "sigmoid" else getattr(np, op)(wide)
    return found


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="this machine has no extended precision")
@each_row(("op", "limits"), list(FUNCTIONS.items()))
def test_float64_is_right_to_the_last_places(op: str, limits: Any, run_both: RunBoth) -> None:
    (low, high), allowed = limits
    draw = np.random.default_rng(5)
    near = np.exp(draw.uniform(-25, 1, 4000)) * draw.choice([-1.0, 1.0], 4000)
    x = np.concatenate([draw.uniform(low, high, 4000), near[(near >= low) & (near <= high)]])
    wanted = exact(op, x)
    error = np.abs(run_both(op, x)[0][0] - wanted) / np.spacing(np.abs(wanted.astype(np.float64)))
    assert error.max() <= allowed, (float(error.max()), x[error.argmax()])
    edges = np.array(SIGNED)
    with np.errstate(all="ignore"):
        (found,), (plain,) = run_both(op, edges)
    np.testing.assert_allclose(found, plain, rtol=1e-15, atol=1e-319)
    if op in ("expm1", "tanh"):
        np.testing.assert_array_equal(np.signbit(found), np.signbit(plain))
