"""Products by a transposed matrix: any extents and strides, against extended precision, and within their memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.value import Array
from engine.execution.native.kernels.packed_product import DEPTH, FEW_ROWS, LEAST, packed_product
from engine.execution.native.lowering import Work
from engine.execution.native.packing import calls_of

ATTRS = {"transpose_a": False, "transpose_b": True}
RunBoth = Callable[..., tuple[list[Array], list[Array]]]


@pytest.fixture(autouse=True)
def _no_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.execution.native.kernels.split_product.has_tiles", lambda: False)


def part(draw: np.random.Generator, rows: int, columns: int, dtype: Any) -> Array:
    """Return a matrix whose rows may lie apart in an array of NaN."""
    before, behind = draw.integers(0, 20, 2)
    whole = np.full((rows, before + columns + behind), np.nan, dtype)
    whole[:, before : before + columns] = draw.standard_normal((rows, columns))
    return whole[:, before : before + columns]


@pytest.mark.law
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_any_extents_are_right(dtype: Any, run_both: RunBoth) -> None:
    draw = np.random.default_rng(int(os.environ["LAW_SEED"]))
    limits = (100, FEW_ROWS, 3 * DEPTH)
    for _ in range(12):
        m, n, k = (int(draw.integers(least, most)) for least, most in zip(LEAST, limits, strict=True))
        a, b, c = part(draw, m, k, dtype), part(draw, n, k, dtype), part(draw, m, n, dtype)
        (call,) = calls_of("matrix_product", Work([a, b], [c], ATTRS)) or []
        assert call.kernel is packed_product
        run_both("matrix_product", a, b, outputs=[c], **ATTRS)
        # Of each sum: the rounding of DEPTH products in a row, and of the sums of these.
        wide = a.astype(np.longdouble), b.astype(np.longdouble)
        bound = (DEPTH + k / DEPTH + 1) * np.finfo(dtype).eps * (abs(wide[0]) @ abs(wide[1]).T)
        assert (abs(c - wide[0] @ wide[1].T) <= bound).all(), (m, n, k)
        c[...] = np.nan
        assert c.base is not None and np.isnan(c.base).all(), "it wrote beside the result"  # noqa: PT018


def test_not_a_number_stays_in_its_row_and_column(run_both: RunBoth) -> None:
    draw = np.random.default_rng(1)
    a, b = draw.standard_normal((40, 300)), draw.standard_normal((70, 300))
    a[3, 290], b[65, 0] = np.nan, np.inf
    (found,), (plain,) = run_both("matrix_product", a, b, **ATTRS)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(plain))
