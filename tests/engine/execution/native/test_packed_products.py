"""Products whose left operand is not packed: any extents and strides, against wider types, in their memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.value import Array
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernels.packed_product import BLOCK_DEPTH, DEPTH, LEAST, packed_product
from engine.execution.native.lowering import Work
from engine.execution.native.packing import calls_of
from tests.support.matrices import WIDER, part
from tests.support.rows import each_row

packing = sys.modules[packed_product.body.__module__]
RunBoth = Callable[..., tuple[list[Array], list[Array]]]

BY = [True, pytest.param(False, marks=pytest.mark.skipif(vector_bytes() != 64, reason="only with AVX-512"))]
"""Is the right operand transposed."""


@pytest.fixture(autouse=True)
def _neither_tiles_nor_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.execution.native.kernels.packed_product.SMALL", 0)
    monkeypatch.setattr("engine.execution.native.kernels.packed_product.registers", lambda: 32)  # whatever there are
    monkeypatch.setattr("engine.execution.native.kernels.split_product.has_tiles", lambda: False)
    monkeypatch.setattr("engine.execution.native.kernels.products.THIN", 0)


@pytest.mark.law
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tb", BY)
def test_products_of_any_extents_are_right(
    tb: bool, dtype: Any, run_both: RunBoth, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, attrs = np.random.default_rng(int(os.environ["LAW_SEED"])), {"transpose_a": False, "transpose_b": tb}
    limits = (150, 150, 3 * DEPTH)
    for place in range(12):
        # Of blocks that hold everything, and of several of rows, panels and depth; with rows fetched ahead or not.
        monkeypatch.setattr(packing, "ROWS_BYTES", (2**12, 2**18)[place % 2])
        monkeypatch.setattr(packing, "PANEL_BYTES", (2**18, 2**19)[place % 2])
        monkeypatch.setattr(packing, "NEAR_BYTES", (0, 2**20)[place // 2 % 2])
        m, n, k = (int(draw.integers(least, most)) for least, most in zip(LEAST, limits, strict=True))
        a, b, c = part(draw, m, k, dtype), part(draw, *((n, k) if tb else (k, n)), dtype), part(draw, m, n, dtype)
        (call,) = calls_of("matrix_product", Work([a, b], [c], attrs)) or []
        assert call.kernel is packed_product
        run_both("matrix_product", a, b, outputs=[c], **attrs)
        # Of each sum: the rounding of DEPTH products in a row, and of the sums of these.
        left, right = (x.astype(WIDER[dtype]) for x in (a, b.T if tb else b))
        bound = (DEPTH + k / DEPTH + 1) * np.finfo(dtype).eps * (abs(left) @ abs(right))
        assert (abs(c - left @ right) <= bound).all(), (m, n, k)
        c[...] = np.nan
        assert c.base is not None and np.isnan(c.base).all(), "it wrote beside the result"  # noqa: PT018


@pytest.mark.parametrize("tb", BY)
def test_not_a_number_stays_in_its_row_and_column(tb: bool, run_both: RunBoth) -> None:
    draw = np.random.default_rng(1)
    a, b = draw.standard_normal((40, 300)), draw.standard_normal((70, 300))
    a[3, 290], b[65, 0] = np.nan, np.inf
    right = b if tb else np.ascontiguousarray(b.T)
    (found,), (plain,) = run_both("matrix_product", a, right, transpose_a=False, transpose_b=tb)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(plain))


@pytest.mark.skipif(vector_bytes() != 64, reason="sizes of panels of AVX-512")
@each_row(
    ("m", "n", "k", "turned"),
    [
        (16, 256, 8192, True),
        (64, 128, 8192, False),  # a panel of all the depth is as large as the cache
        (64, 64, 8192, False),  # no operand has fewer rows
        (96, 1500, 2000, True),
        (256, 2048, 2048, False),  # six panels would read 16 MB each
        (256, 512, 2048, True),
    ],
)
def test_the_operand_with_fewer_rows_is_packed_where_all_its_depth_stays_near(
    m: int, n: int, k: int, turned: bool
) -> None:
    calls = packing.by_panels((False, True, m, n, k, 0, k, 0, k, 0, n), np.dtype(np.float32))
    assert calls[0].arguments[9] is turned
    depth = calls[0].arguments[17]
    assert depth == (k if turned else BLOCK_DEPTH)
