"""Products by blocks: any extents, strides and transposition, against wider types, and within their memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.value import Array
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernels.blocked_product import (
    DEEPEST,
    DEPTH,
    LEAST,
    RESULT_BYTES,
    ROWS_BLOCK,
    blocked_product,
    by_blocks,
)
from engine.execution.native.lowering import Work
from engine.execution.native.packing import calls_of
from tests.support.matrices import WIDER, part

RunBoth = Callable[..., tuple[list[Array], list[Array]]]

pytestmark = pytest.mark.skipif(vector_bytes() != 64, reason="only machines with AVX-512 multiply by these blocks")


@pytest.fixture(autouse=True)
def _nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.execution.native.kernels.blocked_product.SMALL", 0)
    monkeypatch.setattr("engine.execution.native.kernels.split_product.has_tiles", lambda: False)
    monkeypatch.setattr("engine.execution.native.kernels.products.by_panels", lambda *_: None)


def multiplied(a: Array, b: Array, c: Array, run_both: RunBoth, **attrs: bool) -> None:
    """Multiply by blocks, in place of what `c` holds."""
    attrs["transpose_b"] = False
    (call,) = calls_of("matrix_product", Work([a, b], [c], attrs)) or []
    assert call.kernel is blocked_product
    run_both("matrix_product", a, b, outputs=[c], **attrs)


@pytest.mark.law
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ta", [False, True])
def test_products_of_any_extents_are_right(ta: bool, dtype: Any, run_both: RunBoth) -> None:
    draw = np.random.default_rng(int(os.environ["LAW_SEED"]))
    for most in [(150, 150, 3 * DEPTH)] * 4 + [(2 * ROWS_BLOCK, 510, 2 * DEPTH), (100, 1200, 2 * DEPTH)]:
        m, n, k = (int(draw.integers(low, high)) for low, high in zip(LEAST, most, strict=True))
        a = part(draw, *((k, m) if ta else (m, k)), dtype)
        b, c = part(draw, k, n, dtype), part(draw, m, n, dtype)
        multiplied(a, b, c, run_both, transpose_a=ta)
        # Of each sum: the rounding of at most DEPTH products in a row, and of the sums of these.
        left, right = (x.astype(WIDER[dtype]) for x in (a.T if ta else a, b))
        bound = (DEPTH + 2 * k / DEPTH + 1) * np.finfo(dtype).eps * (abs(left) @ abs(right))
        assert (abs(c - left @ right) <= bound).all(), (m, n, k)
        c[...] = np.nan
        assert c.base is not None and np.isnan(c.base).all(), "it wrote beside the result"  # noqa: PT018


def test_a_large_result_is_of_one_block_of_depth_or_left_to_blas(run_both: RunBoth) -> None:
    draw = np.random.default_rng(2)
    a, b = (draw.standard_normal((DEEPEST, 800)).astype(np.float32) for _ in range(2))
    c = np.zeros((800, 800), np.float32)
    assert c.nbytes > RESULT_BYTES
    multiplied(a, b, c, run_both, transpose_a=True)
    np.testing.assert_allclose(c, a.T.astype(np.float64) @ b, rtol=0, atol=1e-3)
    words = (True, False, 800, 800, DEEPEST + 1, a, 800, a, 800, c, 800)
    assert by_blocks(words, c.dtype) is None


@pytest.mark.parametrize("ta", [False, True])
def test_not_a_number_stays_in_its_row_and_column(ta: bool, run_both: RunBoth) -> None:
    draw = np.random.default_rng(1)
    a, b = draw.standard_normal((70, 300)), draw.standard_normal((300, 83))
    a[3, 290], b[0, 65] = np.nan, np.inf
    c = np.zeros((70, 83))
    multiplied(np.ascontiguousarray(a.T) if ta else a, b, c, run_both, transpose_a=ta)
    finite = np.ones((70, 83), bool)
    finite[3], finite[:, 65] = False, False
    np.testing.assert_array_equal(np.isfinite(c), finite)
