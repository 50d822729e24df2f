"""Products of a few rows by a matrix that is read as it lies: any extents and strides, against wider types."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.value import Array
from engine.execution.native.kernels.products import products
from engine.execution.native.kernels.thin_product import DEPTH, ROWS, thin_product
from engine.execution.native.lowering import Work
from engine.execution.native.packing import calls_of
from tests.support.matrices import WIDER, part

thin = sys.modules[thin_product.body.__module__]
RunBoth = Callable[..., tuple[list[Array], list[Array]]]


@pytest.mark.law
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_any_extents_are_right(dtype: Any, run_both: RunBoth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thin, "NEAR_BYTES", 0)
    monkeypatch.setattr(thin, "SHORTEST", 1)
    draw, attrs = np.random.default_rng(int(os.environ["LAW_SEED"])), {"transpose_a": False, "transpose_b": False}
    for place in range(16):
        monkeypatch.setattr(thin, "SUMS_BYTES", (2**10, 2**14)[place % 2])
        m, n, k = (int(draw.integers(2, most)) for most in (ROWS + 1, 300, 3 * DEPTH))
        a, b, c = part(draw, m, k, dtype), part(draw, k, n, dtype), part(draw, m, n, dtype)
        (call,) = calls_of("matrix_product", Work([a, b], [c], attrs)) or []
        assert call.kernel is thin_product
        run_both("matrix_product", a, b, outputs=[c], **attrs)
        # Of each sum: the rounding of DEPTH products in a row, and of the sums of these.
        left, right = a.astype(WIDER[dtype]), b.astype(WIDER[dtype])
        bound = (DEPTH + k / DEPTH + 1) * np.finfo(dtype).eps * (abs(left) @ abs(right))
        assert (abs(c - left @ right) <= bound).all(), (m, n, k)
        c[...] = np.nan
        assert c.base is not None
        assert np.isnan(c.base).all(), "it wrote beside the result"


@pytest.mark.parametrize(("rows", "columns", "far"), [(4096, 600, True), (600, 4096, True), (6144, 400, False)])
def test_a_far_matrix_is_read_as_it_lies(rows: int, columns: int, far: bool) -> None:
    kernels = []
    for m in (ROWS, ROWS + 1):
        a, b, c = (np.zeros(shape, np.float32) for shape in ((m, rows), (rows, columns), (m, columns)))
        (call,) = calls_of("matrix_product", Work([a, b], [c], {"transpose_a": False, "transpose_b": False})) or []
        kernels.append(call.kernel)
    assert (kernels[0] is thin_product) is far
    assert thin_product is not kernels[1]
    assert not (far and kernels[1] is products), "in pieces of its columns"
