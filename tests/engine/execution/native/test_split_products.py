"""Products by tile registers: any extents, strides and transposition, against float64, and numbers of any size."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from engine.core.value import Array
from engine.execution.native.inline.register_tiles import has_tiles
from engine.execution.native.kernels.split_product import DEPTH, split_product
from engine.execution.native.kernels.tile_product import COLUMNS_BLOCK, ROWS_BLOCK
from engine.execution.native.lowering import Work
from engine.execution.native.packing import calls_of

RunBoth = Callable[..., tuple[list[Array], list[Array]]]

pytestmark = pytest.mark.skipif(not has_tiles(), reason="only machines with AMX multiply by tile registers")

TRANSPOSITIONS = list(product([False, True], repeat=2))


@pytest.fixture(autouse=True)
def _no_product_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LEAST", (1, 1, 1)), ("LEAST_REUSE", 0), ("SMALL", 0), ("LARGEST_WASTE", math.inf)):
        monkeypatch.setattr(f"engine.execution.native.kernels.split_product.{name}", value)


def part(draw: np.random.Generator, rows: int, columns: int, *, turned: bool = False) -> Array:
    """Return a matrix, or its transpose, whose rows lie apart in an array of NaN."""
    if turned:
        rows, columns = columns, rows
    before, behind = draw.integers(1, 20, 2)
    whole = np.full((rows, before + columns + behind), np.nan, np.float32)
    whole[:, before : before + columns] = draw.standard_normal((rows, columns))
    return whole[:, before : before + columns]


def multiplied(a: Array, b: Array, run_both: RunBoth, c: Array | None = None, *, ta: bool, tb: bool) -> Array:
    """Multiply by tile registers, in place of what `c` holds."""
    if c is None:
        c = np.full((a.shape[ta], b.shape[not tb]), 7, np.float32)
    attrs = {"transpose_a": ta, "transpose_b": tb}
    (call,) = calls_of("matrix_product", Work([a, b], [c], attrs)) or []
    assert call.kernel is split_product
    run_both("matrix_product", a, b, outputs=[c], **attrs)
    return c


def exact(a: Array, b: Array, ta: bool, tb: bool) -> tuple[Array, Array]:
    """Return a product in float64, and that of the magnitudes."""
    left, right = (x.astype(np.float64).T if turned else x.astype(np.float64) for x, turned in ((a, ta), (b, tb)))
    return left @ right, abs(left) @ abs(right)


def error(depth: int) -> float:
    """Return the largest error of a sum, by the sum of its magnitudes: of at most 2 `DEPTH` roundings in a row.

    The sums of blocks are rounded too, and products by at most two roundings.
    """
    return (2 * DEPTH + 2 * depth / DEPTH + 2) * float(np.finfo(np.float32).eps)


@pytest.mark.law
@pytest.mark.parametrize(("ta", "tb"), TRANSPOSITIONS)
def test_products_of_any_extents_are_right(ta: bool, tb: bool, run_both: RunBoth) -> None:
    draw = np.random.default_rng(int(os.environ["LAW_SEED"]))
    small = [(70, 70, 70)] * 6
    for most in (*small, (150, 150, 5 * DEPTH), (4 * ROWS_BLOCK, 300, 200), (90, 2 * COLUMNS_BLOCK, 150)):
        m, n, k = (int(draw.integers(2, high)) for high in most)
        a, b, c = part(draw, m, k, turned=ta), part(draw, k, n, turned=tb), part(draw, m, n)
        multiplied(a, b, run_both, c, ta=ta, tb=tb)
        expected, size = exact(a, b, ta, tb)
        assert (abs(c - expected) <= error(k) * size).all(), (m, n, k)
        c[...] = np.nan
        assert c.base is not None
        assert np.isnan(c.base).all(), "it wrote beside the result"


def test_errors_are_no_larger_than_those_of_blas(run_both: RunBoth) -> None:
    draw = np.random.default_rng(2)
    for k in (64, 300, 2000):
        a, b = (draw.standard_normal(shape).astype(np.float32) for shape in ((128, k), (k, 160)))
        expected, size = exact(a, b, ta=False, tb=False)
        ours, blas = (
            math.sqrt((((x - expected) / size) ** 2).mean())
            for x in (multiplied(a, b, run_both, ta=False, tb=False), a @ b)
        )
        assert ours <= 1.25 * blas, k


def test_numbers_of_few_bits_are_multiplied_exactly(run_both: RunBoth) -> None:
    draw = np.random.default_rng(3)
    whole = draw.integers(-(2**24), 2**24, (80, 64)).astype(np.float32)
    rows = draw.integers(0, 80, 100)
    chosen = np.eye(80, dtype=np.float32)[rows]
    np.testing.assert_array_equal(multiplied(chosen, whole, run_both, ta=False, tb=False), whole[rows])
    a, b = (draw.integers(-(2**8), 2**8, shape).astype(np.float32) for shape in ((70, 200), (200, 90)))
    np.testing.assert_array_equal(multiplied(a, b, run_both, ta=False, tb=False), a @ b)


@pytest.mark.parametrize("scale", [1e-30, 1e-10, 1e10, 1e30])
def test_the_error_does_not_depend_on_the_size_of_numbers(scale: float, run_both: RunBoth) -> None:
    draw = np.random.default_rng(4)
    a, b = (draw.standard_normal(shape) for shape in ((70, 200), (200, 90)))
    a, b = (a * scale).astype(np.float32), (b * min(1 / scale, 1e25)).astype(np.float32)
    expected, size = exact(a, b, ta=False, tb=False)
    found = multiplied(a, b, run_both, ta=False, tb=False)
    assert (abs(found - expected) <= error(200) * size).all()


@pytest.mark.parametrize("scale", [1e17, 1e19, 1e22])
def test_sums_that_overflow_are_infinite(scale: float, run_both: RunBoth) -> None:
    draw = np.random.default_rng(6)
    a, b = ((draw.uniform(0.5, 1, shape) * scale).astype(np.float32) for shape in ((70, 200), (200, 90)))
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(multiplied(a, b, run_both, ta=False, tb=False), a @ b, rtol=1e-5)


@pytest.mark.parametrize("large", [np.inf, -np.inf, np.nan, np.finfo(np.float32).max])
@pytest.mark.parametrize(("ta", "tb"), TRANSPOSITIONS)
def test_results_of_numbers_without_parts_are_those_of_blas(
    ta: bool, tb: bool, large: float, run_both: RunBoth
) -> None:
    draw = np.random.default_rng(5)
    a, b = (draw.uniform(0, 0.1, shape).astype(np.float32) for shape in ((70, 300), (300, 83)))
    a[3, 290] = large
    b[200, 65] = np.inf
    a, b = (np.ascontiguousarray(x.T) if turned else x for x, turned in ((a, ta), (b, tb)))
    found = multiplied(a, b, run_both, ta=ta, tb=tb)
    with np.errstate(all="ignore"):
        expected = (a.T if ta else a) @ (b.T if tb else b)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
