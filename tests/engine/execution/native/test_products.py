"""Thin products, which are cut so that BLAS packs nothing: any extents and strides, against wider types; outer ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.value import Array
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernels.products import THIN, products
from engine.execution.native.lowering import Work
from engine.execution.native.packing import calls_of
from tests.support.matrices import WIDER, part
from tests.support.rows import each_row

RunBoth = Callable[..., tuple[list[Array], list[Array]]]


@pytest.mark.law
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False)])
def test_thin_products_of_any_extents_are_right(ta: bool, tb: bool, dtype: Any, run_both: RunBoth) -> None:
    draw, attrs = np.random.default_rng(int(os.environ["LAW_SEED"])), {"transpose_a": ta, "transpose_b": tb}
    cut = 0
    for _ in range(40):
        thin, pieces, k = (int(draw.integers(least, most)) for least, most in ((1, THIN + 2), (4, 90), (30, 700)))
        long = 12 * pieces + int(draw.integers(2) * draw.integers(12))
        m, n = (long, thin) if draw.integers(2) else (thin, long)
        a, b = part(draw, *((k, m) if ta else (m, k)), dtype), part(draw, *((n, k) if tb else (k, n)), dtype)
        c = part(draw, m, n, dtype)
        cut += any(call.kernel is products for call in calls_of("matrix_product", Work([a, b], [c], attrs)) or [])
        run_both("matrix_product", a, b, outputs=[c], **attrs)
        left, right = (x.astype(WIDER[dtype]) for x in (a.T if ta else a, b.T if tb else b))
        bound = (k + 1) * np.finfo(dtype).eps * (abs(left) @ abs(right))
        assert (abs(c - left @ right) <= bound).all(), (m, n, k)
        c[...] = np.nan
        assert c.base is not None
        assert np.isnan(c.base).all(), "it wrote beside the result"
    assert bool(cut) is (vector_bytes() == 64)


@each_row(("ta", "tb"), [(False, False), (False, True), (True, False), (True, True)])
def test_many_products_of_depth_1_are_those_of_columns_and_rows(ta: bool, tb: bool, run_both: RunBoth) -> None:
    draw = np.random.default_rng(0)
    columns, rows = (draw.integers(-9, 9, (3, 5, extent)).astype(np.float32) for extent in (4, 7))
    a, b = (columns[..., None, :] if ta else columns[..., None]), (rows[..., None] if tb else rows[..., None, :])
    ((actual,), _) = run_both("matrix_product", a, b, transpose_a=ta, transpose_b=tb)
    np.testing.assert_array_equal(actual, columns[..., None] * rows[..., None, :])
