"""Products by a transposed matrix of few rows: any extents and strides, against wider types, in their memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.value import Array
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernels import dot_product as dots
from engine.execution.native.lowering import Work
from engine.execution.native.packing import calls_of
from tests.support.matrices import WIDER, part

pytestmark = pytest.mark.skipif(vector_bytes() != 64, reason="only with AVX-512")
RunBoth = Callable[..., tuple[list[Array], list[Array]]]
ATTRS = {"transpose_a": False, "transpose_b": True}


@pytest.mark.law
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_any_extents_are_right(dtype: Any, run_both: RunBoth, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(int(os.environ["LAW_SEED"]))
    for place in range(12):
        # With rows fetched ahead or not; blocks of 128 rows are several.
        monkeypatch.setattr(dots, "NEAR_BYTES", (0, 2**20)[place % 2])
        m, n, k = int(draw.integers(32, 400)), int(draw.integers(2, dots.FEW + 1)), int(draw.integers(64, 300))
        a, b, c = part(draw, m, k, dtype), part(draw, n, k, dtype), part(draw, m, n, dtype)
        (call,) = calls_of("matrix_product", Work([a, b], [c], ATTRS)) or []
        assert call.kernel is dots.dot_product
        run_both("matrix_product", a, b, outputs=[c], **ATTRS)
        left, right = (x.astype(WIDER[dtype]) for x in (a, b.T))
        bound = (k / 8 + 4) * np.finfo(dtype).eps * (abs(left) @ abs(right))
        assert (abs(c - left @ right) <= bound).all(), (m, n, k)
        c[...] = np.nan
        assert c.base is not None and np.isnan(c.base).all(), "it wrote beside the result"  # noqa: PT018


def test_not_a_number_stays_in_its_row_and_column(run_both: RunBoth) -> None:
    draw = np.random.default_rng(1)
    a, b = draw.standard_normal((40, 70)), draw.standard_normal((7, 70))
    a[3, 69], b[6, 0] = np.nan, np.inf
    (found,), (plain,) = run_both("matrix_product", a, b, **ATTRS)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(plain))
