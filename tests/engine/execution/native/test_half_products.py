"""Products of bfloat16, by pairs and by tile registers: any even depth, strides and transposition, against float64."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from engine.core.dtypes import BFLOAT16
from engine.core.value import Array
from engine.execution.native.inline.register_tiles import has_tiles
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernel import PAIRS
from engine.execution.native.kernels.half_product import half_product
from engine.execution.native.lowering import Work
from engine.execution.native.packing import calls_of
from tests.engine.execution.native.conftest import Compiled

pytestmark = pytest.mark.skipif(vector_bytes() != 64, reason="only machines with AVX-512 multiply by these blocks")

LAYOUTS = [(False, True), (False, False), (True, False)]


@pytest.fixture(params=["pairs", "tiles"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Take one of the kernels, that of pairs on machines without the instruction too, where it is made of others."""
    chosen = str(request.param)
    if chosen == "tiles" and not has_tiles():
        pytest.skip("only machines with AMX multiply by tile registers")
    monkeypatch.setattr("engine.execution.native.kernels.half_product.has_tiles", lambda: chosen == "tiles")
    monkeypatch.setattr("engine.execution.native.kernels.half_product.SMALL", 0)
    monkeypatch.setattr("engine.execution.native.kernels.paired_product.multiplies_pairs", lambda: True)
    monkeypatch.setattr("engine.execution.native.kernels.paired_product.SMALL", 0)
    return chosen


def part(draw: np.random.Generator, rows: int, columns: int, dtype: Any = BFLOAT16) -> Array:
    """Return a matrix whose rows lie apart in an array of NaN."""
    before, behind = draw.integers(1, 20, 2)
    whole = np.full((rows, before + columns + behind), np.nan, dtype)
    whole[:, before : before + columns] = draw.standard_normal((rows, columns))
    return whole[:, before : before + columns]


def operands(draw: np.random.Generator, m: int, n: int, k: int, ta: bool, tb: bool) -> tuple[Array, Array, Array]:
    a = part(draw, *((k, m) if ta else (m, k)))
    b = part(draw, *((n, k) if tb else (k, n)))
    return a, b, part(draw, m, n, np.float32)


@pytest.mark.law
@pytest.mark.parametrize(("ta", "tb"), LAYOUTS)
def test_products_of_any_extents_are_right(ta: bool, tb: bool, way: str, compiled: Compiled) -> None:
    draw = np.random.default_rng(int(os.environ["LAW_SEED"]))
    for most in [(150, 150, 300)] * 4 + [(300, 510, 400), (60, 700, 900)]:
        m, n, half = (int(draw.integers(8 if way == "tiles" else 32, high)) for high in most)
        k = 2 * half
        a, b, c = operands(draw, m, n, k, ta, tb)
        attrs = {"transpose_a": ta, "transpose_b": tb}
        calls = calls_of("matrix_product", Work([a, b], [c], attrs)) or []
        assert [call.kernel is half_product for call in calls] == [way == "tiles"]
        assert way == "tiles" or calls[0].dtype == PAIRS
        compiled("matrix_product", [a, b], [c], attrs)
        left, right = (x.astype(np.float64) for x in (a.T if ta else a, b.T if tb else b))
        bound = k * np.finfo(np.float32).eps * (abs(left) @ abs(right))
        assert (abs(c - left @ right) <= bound).all(), (m, n, k)
        c[...] = np.nan
        assert c.base is not None and np.isnan(c.base).all(), "it wrote beside the result"  # noqa: PT018


@pytest.mark.parametrize(("ta", "tb"), LAYOUTS)
@pytest.mark.parametrize("extents", [(40, 40, 37), (2, 40, 3), (3, 2, 64)])
def test_other_products_are_those_of_casts(
    ta: bool, tb: bool, extents: tuple[int, int, int], compiled: Compiled
) -> None:
    m, n, k = extents
    a, b, c = operands(np.random.default_rng(2), m, n, k, ta, tb)
    compiled("matrix_product", [a, b], [c], {"transpose_a": ta, "transpose_b": tb})
    left, right = (x.astype(np.float64) for x in (a.T if ta else a, b.T if tb else b))
    np.testing.assert_allclose(c, left @ right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("ta", "tb"), LAYOUTS)
def test_not_a_number_stays_in_its_row_and_column(ta: bool, tb: bool, compiled: Compiled) -> None:
    a, b, c = operands(np.random.default_rng(1), 70, 83, 300, ta, tb)
    (a.T if ta else a)[3, 290], (b.T if tb else b)[1, 65] = np.nan, np.inf
    compiled("matrix_product", [a, b], [c], {"transpose_a": ta, "transpose_b": tb})
    finite = np.ones((70, 83), bool)
    finite[3], finite[:, 65] = False, False
    np.testing.assert_array_equal(np.isfinite(c), finite)
