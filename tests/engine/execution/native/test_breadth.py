"""Kernels of less frequent ops against NumPy's: constants, padding, triangles, resampling, extremes, places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.dtypes import BFLOAT16
from engine.core.value import Array
from tests.support.rows import each_row

RunBoth = Callable[..., tuple[list[Array], list[Array]]]
RNG = np.random.default_rng(11)


def numbers(*shape: int) -> Array:
    """Draw normal numbers."""
    return RNG.standard_normal(shape)


SPECIAL = np.array([[np.nan, 1, -np.inf], [np.inf, 2, -np.inf], [-np.inf, -np.inf, -np.inf], [0.0, -0.0, 3]])
PAIRS = [
    v.ravel() for v in np.meshgrid([0.0, -0.0, 1.0, -2.5, 7.0, 1e20, np.inf, np.nan], [0.0, 3.0, -2.0, 1e-20, -np.inf])
]
REFLECT, REPLICATE, CIRCULAR = ({"mode": mode} for mode in ("reflect", "replicate", "circular"))
EXACT: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "zeros": ("zeros", [], {"shape": (3, 5)}),
    "ones": ("ones", [], {"shape": (2, 3), "dtype": np.dtype(bool)}),
    "full": ("full", [], {"shape": (7,), "value": -3}),
    "eye": ("eye", [], {"rows": 3, "columns": 5}),
    "arange": ("arange", [], {"stop": 7, "start": 1, "step": 2}),
    "linspace": ("linspace", [], {"start": 0.0, "stop": 1.0, "steps": 7}),
    "pad": ("pad", [numbers(2, 3, 4)], {"widths": ((0, 0), (1, 2), (3, 0)), "value": 2.5}),
    "pad less": ("pad", [numbers(4, 5)], {"widths": ((-1, 2), (1, -2)), "value": 1.0}),
    "pad nothing left": ("pad", [numbers(4, 5)], {"widths": ((-5, 3), (1, 2)), "value": 1.0}),
    "pad a view": ("pad", [numbers(6, 5).T[::2]], {"widths": ((1, 0), (0, 1)), "value": 1.0}),
    "reflect": ("pad", [numbers(2, 4, 5)], {"widths": ((0, 0), (3, 1), (2, 4)), **REFLECT}),
    "replicate": ("pad", [numbers(2, 4, 5)], {"widths": ((1, 0), (3, 9), (2, 4)), **REPLICATE}),
    "circular": ("pad", [numbers(2, 4, 5)], {"widths": ((0, 0), (4, 1), (2, 5)), **CIRCULAR}),
    "tril": ("tril", [numbers(2, 4, 3)], {"diagonal": -1}),
    "triu": ("triu", [numbers(2, 3, 5)], {"diagonal": 2}),
    "triu of rows apart": ("triu", [numbers(4, 9)[:, 2:6]], {"diagonal": -7}),
    "diag_mask_inf": ("diag_mask_inf", [numbers(3, 5)], {"n_past": 1}),
    "diagonal_scatter": (
        "diagonal_scatter",
        [numbers(2, 3)],
        {"shape": (3, 2, 4), "offset": 1, "axis0": 0, "axis1": -1},
    ),
    "nearest": ("resample", [numbers(2, 5, 3)], {"axis": 1, "size": 8, "method": "nearest"}),
    "nearest of rows": ("resample", [numbers(2, 5)], {"axis": -1, "size": 3, "method": "nearest-exact"}),
    "amax": ("amax", [numbers(3, 4, 5)], {"axis": (0, 1)}),
    "amax of rows": ("amax", [SPECIAL], {"axis": 1, "keepdims": True}),
    "amin of columns": ("amin", [SPECIAL], {"axis": 0}),
    "amin of all": ("amin", [numbers(3, 4)], {}),
    "amax of a transpose": ("amax", [numbers(3, 4).T], {"axis": 1}),
    "argmax": ("argmax", [SPECIAL], {"axis": 0}),
    "argmin": ("argmin", [SPECIAL], {"axis": 1}),
    "argmin of planes": ("argmin", [numbers(3, 4, 5)], {"axis": 1, "keepdims": True}),
    "argmax of all": ("argmax", [numbers(3, 4)], {}),
    "bin_argmax": ("bin_argmax", [numbers(2, 7, 3)], {"axis": 1, "bins": 3}),
    "bin_argmax of special numbers": ("bin_argmax", [SPECIAL], {"axis": 0, "bins": 3}),
    "gather along rows": ("gather", [numbers(4, 3), RNG.integers(-4, 4, (6, 3))], {"axis": 0}),
    "one_hot": ("one_hot", [RNG.integers(-4, 4, (3, 7))[:, ::2]], {"classes": 4}),
    "one_hot of bools": ("one_hot", [RNG.integers(0, 4, 5).astype(np.int32)], {"classes": 4, "dtype": np.dtype(bool)}),
    "index_get": ("index_get", [numbers(6, 3), RNG.integers(-6, 6, (4, 2))], {"axes": (0,)}),
    "gather of integers": ("gather", [RNG.integers(0, 9, (4, 3)), RNG.integers(-3, 3, (4, 2))], {"axis": 1}),
    "rows of bools": ("index_get", [numbers(5, 3) > 0, np.array([4, -5, 0])], {"axes": (0,)}),
    "embedding of a column": ("embedding", [numbers(6, 3), RNG.integers(-6, 6, (4, 3))[:, 1]], {}),
    "embedding of columns": ("embedding", [numbers(6, 3), RNG.integers(-6, 6, (4, 3))[:, 1:]], {}),
    "concat of bools": ("concat", [numbers(3, 2) > 0, numbers(3, 4) > 0], {"axis": 1}),
    **{op: (op, [PAIRS[0], PAIRS[1]], {}) for op in ("floor_divide", "fmod", "remainder", "trunc_divide")},
    "quotients by one number": ("trunc_divide", [np.arange(-99.0, 99.0), np.array([49.0])], {}),
    "distinct_index": ("distinct_index", [np.array([[0, -1, 2], [3, 1, -6]])], {"axis": 1, "extent": 6}),
    "listed_labels": ("listed_labels", [np.array([[2, 0, -1], [-1, 1, 1]])], {}),
    "argmedian": ("argmedian", [SPECIAL], {"axis": 1}),
    "argmedian of columns": ("argmedian", [numbers(2, 6, 3)], {"axis": 1}),
    "argmedian without NaN": ("argmedian", [SPECIAL], {"axis": 0, "ignore_nan": True}),
    "flip of rows": ("flip", [numbers(3, 37)], {"axis": (1,)}),
    "flip of all axes": ("flip", [numbers(2, 5, 19)], {"axis": (0, 1, 2)}),
    "signbit": ("signbit", [np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan])], {}),
    "signbit of integers": ("signbit", [np.array([0, 3, -2])], {}),
    "bits": ("bitcast", [np.arange(-3, 9).reshape(3, 4).T], {"dtype": np.dtype(np.float64)}),
    **{
        f"nan_to_num {attrs}": ("nan_to_num", [SPECIAL], attrs)
        for attrs in ({}, {"nan": 2.5, "neginf": -4.0}, {"posinf": np.inf})
    },
    "round to decimals": ("round", [numbers(300) * 100], {"decimals": 2}),
    "round to hundreds": ("round", [numbers(300) * 1e5], {"decimals": -2}),
    **{
        f"{op} of bools over {axis}": (op, [numbers(3, 4, 5, 2) > 1], {"axis": axis})
        for op in ("sum", "all", "any")
        for axis in ((0, 1, 2, 3), (1,), (3,), (0, 2), (1, 3))
    },
    "sum of integers": ("sum", [RNG.integers(-9, 9, (3, 4, 5))], {"axis": (1,), "keepdims": True}),
    **{
        f"{op} of bools": (op, [numbers(3, 4) > 0, numbers(4) > 0], {})
        for op in ("bitwise_and", "bitwise_or", "bitwise_xor")
    },
    "bitwise_not of bools": ("bitwise_not", [numbers(3, 4) > 0], {}),
    "index_get of axes apart": (
        "index_get",
        [numbers(2, 5, 4), RNG.integers(-2, 2, (3, 1)), RNG.integers(-4, 4, 6)],
        {"axes": (0, 2)},
    ),
    "index_set of axes apart": (
        "index_set",
        [numbers(2, 5, 4), numbers(3, 5), np.array([1, 0, -1]), np.array([2, -1, 0])],
        {"axes": (0, -1)},
    ),
    "copy of bools": ("copy", [(numbers(3, 4) > 0).T], {}),
}
LOWER = np.tril(RNG.uniform(-1, 1, (2, 1, 5, 5))) + 3 * np.eye(5)
POSITIVE = LOWER @ LOWER.swapaxes(-1, -2)
ANGLES = np.concatenate([RNG.uniform(-30, 30, 1500), [0.0, -0.0, np.inf, -np.inf, np.nan, 1e6, -3e9, 1e22]])
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1e20, -1e20, np.inf, -np.inf, np.nan])
CLOSE: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "sin": ("sin", [ANGLES], {}),
    "cos": ("cos", [ANGLES], {}),
    "tan": ("tan", [ANGLES], {}),
    "sin of near angles": ("sin", [ANGLES[:99]], {}),
    "cos apart": ("cos", [ANGLES[:90].reshape(9, 10).T[::2]], {}),
    "erf": ("erf", [ANGLES / 7], {}),
    "erfc": ("erfc", [ANGLES / 7], {}),
    "gelu": ("gelu", [ANGLES], {}),
    "rows by a vector": ("matrix_product", [numbers(9, 70), numbers(70, 1)], {}),
    "rows by a strided vector": ("matrix_product", [numbers(9, 70), numbers(70, 3)[:, 1:2]], {}),
    "columns by a vector": ("matrix_product", [numbers(135, 70) / 8, numbers(135, 1) / 8], {"transpose_a": True}),
    "columns of few rows by a vector": (
        "matrix_product",
        [numbers(20, 70), numbers(20, 1)],
        {"transpose_a": True},
    ),
    "vector by rows": ("matrix_product", [numbers(1, 135) / 8, numbers(135, 70) / 8], {}),
    "vector by columns": ("matrix_product", [numbers(1, 70), numbers(9, 70)], {"transpose_b": True}),
    **{
        f"{columns} short columns by a vector": (
            "matrix_product",
            [numbers(9, columns), numbers(columns, 2)[:, 1:]],
            {},
        )
        for columns in (1, 8, 17, 33, 63)
    },
    **{
        f"vector by {columns} short columns": ("matrix_product", [numbers(1, 300) / 8, numbers(300, columns) / 8], {})
        for columns in (1, 8, 17, 33, 63)
    },
    "turned vector": ("matrix_product", [numbers(70, 1), numbers(9, 70)], {"transpose_a": True, "transpose_b": True}),
    "power": ("power", [np.exp(numbers(40)), numbers(40)], {}),
    "prelu": ("prelu", [numbers(3, 4, 5), numbers(4)], {}),
    "prelu of one slope": ("prelu", [numbers(3, 4), numbers(1)], {}),
    "celu": ("celu", [EDGES], {"alpha": 1.5}),
    "hardshrink": ("hardshrink", [EDGES], {}),
    "softshrink": ("softshrink", [EDGES], {"lambd": 0.75}),
    "one_minus_square": ("one_minus_square", [numbers(7)], {}),
    "hypot": ("hypot", PAIRS, {}),
    "hypot of what has no square": ("hypot", [EDGES[:-3] * 1e10, EDGES[:-3] / 2e10], {}),
    **{
        f"bessel_i of order {order}, {scaled}": (
            "bessel_i",
            [np.concatenate([EDGES[(abs(EDGES) < 1e3) | np.isnan(EDGES)], numbers(99) * 25])],
            {"order": order, "scaled": scaled},
        )
        for order in range(4)
        for scaled in (True, False)
    },
    **{
        f"sum_to {shape}": ("sum_to", [numbers(6, 5, 7, 3)], {"shape": shape})
        for shape in ((5, 1, 3), (1, 5, 1, 3), (6, 1, 7, 1), (6, 5, 7, 3), (1, 1, 1, 3), (7, 1))
    },
    "logaddexp2": ("logaddexp2", [p * 3 for p in PAIRS], {}),
    "sinc": ("sinc", [np.concatenate([EDGES[:-5], numbers(99) * 9, [1e-320]])], {}),
    "slope of sinc": ("sinc_derivative", [np.concatenate([EDGES[:-5], numbers(99) * 9])], {"order": 1}),
    "lgamma": ("lgamma", [np.concatenate([EDGES, numbers(50) * 20])], {}),
    "digamma": ("digamma", [np.concatenate([EDGES, np.abs(numbers(50)) * 20])], {}),
    "copysign": ("copysign", [numbers(7), EDGES[:7]], {}),
    "entr": ("entr", [EDGES], {}),
    "bce_terms": ("bce_terms", [np.array([0.0, 1.0, 0.3, np.nan, 2.0]), np.array([0.0, 0.5, 1.0, 1.0, 0.0])], {}),
    "squares of columns": ("sum_of_squares", [numbers(9, 70)[:, 3:40]], {}),
    "squares of planes": ("sum_of_squares", [numbers(4, 5, 6)[:, 1:4, :5]], {}),
    "squares of a transpose": ("sum_of_squares", [numbers(40, 9).T], {}),
    "cumsum": ("cumsum", [numbers(9, 40)], {"axis": 1}),
    "cumsum of columns": ("cumsum", [numbers(3, 4, 5)], {"axis": 1}),
    "cumsum of a transpose": ("cumsum", [numbers(3, 4).T], {"axis": 0}),
    "cumprod": ("cumprod", [numbers(3, 4)], {"axis": 0}),
    "recurrence": ("linear_recurrence", [numbers(3, 9, 2), numbers(3, 9, 2)], {"axis": 1}),
    "recurrence of rows": ("linear_recurrence", [numbers(6, 9), numbers(6, 9)], {"axis": -1}),
    "cholesky": ("cholesky", [POSITIVE + np.triu(numbers(5, 5), 1) * 1e-3], {}),
    "upper cholesky": ("cholesky", [POSITIVE[0]], {"upper": True}),
    "lower system": ("solve_triangular_left", [LOWER, numbers(2, 3, 5, 4)], {"upper": False}),
    "upper system": ("solve_triangular_left", [LOWER[0, 0].T, numbers(3, 5, 1)], {"upper": True}),
    "other triangle": ("solve_triangular_left", [LOWER[0, 0].T + LOWER[0, 0], numbers(5, 1)], {"upper": True}),
    "unit diagonal": ("solve_triangular_left", [LOWER[:, 0], numbers(5, 2)], {"upper": False, "unitriangular": True}),
    "linear": ("resample", [numbers(2, 5, 3)], {"axis": 1, "size": 8, "method": "linear"}),
    "linear of rows": ("resample", [numbers(2, 5)], {"axis": 1, "size": 9, "method": "linear", "align_corners": True}),
    "cubic": ("resample", [numbers(4, 3)], {"axis": 0, "size": 7, "method": "cubic", "scale": 1.9}),
    "smoothing": ("resample", [numbers(2, 9)], {"axis": 1, "size": 4, "method": "cubic-antialias"}),
    "scatter_add along rows": (
        "scatter_add",
        [numbers(6, 3), RNG.integers(-4, 4, (6, 3))],
        {"axis": 0, "shape": (4, 3)},
    ),
    "log_softmax of columns": ("log_softmax", [numbers(2, 5, 3)], {"axis": 1}),
    "softmax of a column each": ("softmax", [numbers(2, 5, 1)], {"axis": 1}),
    "softmax of a column each back": ("softmax_backward", [numbers(2, 5, 1), numbers(2, 5, 1)], {"axis": 1}),
    "nearest back": ("resample_back", [numbers(2, 8, 3)], {"axis": 1, "extent": 5, "method": "nearest"}),
    "linear back": ("resample_back", [numbers(2, 8)], {"axis": 1, "extent": 5, "method": "linear"}),
    "logsumexp of rows": ("logsumexp", [numbers(3, 70)], {"axis": 1}),
    "logsumexp of many short rows": ("logsumexp", [numbers(131, 16)], {"axis": 1}),
    "logsumexp of short rows": ("logsumexp", [numbers(9, 5, 3)], {"axis": -1, "keepdims": True}),
    "logsumexp of columns": ("logsumexp", [numbers(3, 7, 5)], {"axis": (0, 1), "keepdims": True}),
    "logsumexp of a transpose": ("logsumexp", [numbers(3, 70).T], {"axis": 0}),
    "logsumexp of all": ("logsumexp", [numbers(3, 7)], {}),
    "logsumexp of special rows": ("logsumexp", [SPECIAL], {"axis": 1}),
    "logsumexp of special columns": ("logsumexp", [SPECIAL], {"axis": 0}),
    **{
        f"{op} over axes {axis} that lie apart": (op, [numbers(3, 4, 2, 5)], {"axis": axis, "keepdims": op == "mean"})
        for op in ("sum", "mean", "prod", "logsumexp", "amax", "amin")
        for axis in ((0, 2), (1, 3), (0, 3))
    },
    "index_scatter of axes apart": (
        "index_scatter",
        [numbers(3, 6, 5), RNG.integers(-2, 2, (3, 1)), RNG.integers(-4, 4, 6)],
        {"axes": (0, 2), "shape": (2, 5, 4)},
    ),
    "index_scatter": (
        "index_scatter",
        [numbers(4, 2, 3), RNG.integers(-6, 6, (4, 2))],
        {"axes": (0,), "shape": (6, 3)},
    ),
    "add_rows of a column": ("add_rows", [numbers(9, 4), RNG.integers(-6, 6, (9, 3))[:, 1]], {"rows": 6}),
    "add_rows of columns": ("add_rows", [numbers(9, 2, 4), RNG.integers(-6, 6, (9, 3))[:, 1:]], {"rows": 6}),
}


def _at(dtype: str, operands: list[Any]) -> list[Array]:
    """Convert floats; as few as possible of them move."""
    return [x.astype(dtype, order="K", copy=False) if x.dtype == np.float64 else x for x in operands]


@each_row("dtype", ["float32", "float64"])
@each_row("name", EXACT)
def test_what_is_chosen_or_moved_is_the_same_to_the_bit(name: str, dtype: str, run_both: RunBoth) -> None:
    op, operands, attrs = EXACT[name]
    if not operands and "dtype" not in attrs and op not in ("full", "arange"):
        attrs = {**attrs, "dtype": np.dtype(dtype)}
    for actual, wanted in zip(*run_both(op, *_at(dtype, operands), **attrs), strict=True):
        np.testing.assert_array_equal(actual, wanted)


@each_row("dtype", ["float32", "float64"])
@each_row("name", CLOSE)
def test_sums_are_those_of_numpy(name: str, dtype: str, run_both: RunBoth) -> None:
    op, operands, attrs = CLOSE[name]
    ((actual,), (wanted,)) = run_both(op, *_at(dtype, operands), **attrs)
    tolerance = 2e-6 if dtype == "float32" else 1e-14
    np.testing.assert_allclose(actual, wanted, rtol=tolerance, atol=tolerance)


def test_powers_of_float32_are_right_to_the_last_place_and_at_the_edges(run_both: RunBoth) -> None:
    x, y = (v.astype(np.float32).ravel() for v in np.meshgrid(EDGES, EDGES))
    actual = run_both("power", x, y)[0][0]
    with np.errstate(all="ignore"):  # NumPy's own for float32 is off by one place on some CPUs
        wanted = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(actual, wanted)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(actual[number]), np.signbit(wanted[number]))
    x, y = np.exp(RNG.uniform(-4, 4, 2000)).astype(np.float32), RNG.uniform(-15, 15, 2000).astype(np.float32)
    exact = x.astype(np.float64) ** y.astype(np.float64)
    assert np.max(np.abs(run_both("power", x, y)[0][0] - exact) / np.spacing(exact.astype(np.float32))) < 0.51


@pytest.mark.parametrize("n", [1, 9, 24, 31, 100])
def test_triangular_systems_of_many_blocks_are_solved(n: int, run_both: RunBoth) -> None:
    root = RNG.standard_normal((2, n, n))
    positive = root @ root.swapaxes(1, 2) / n + np.eye(n)
    for dtype, rtol in (("float32", 1e-3), ("float64", 1e-9)):
        for upper in (False, True):
            (factor,), (expected,) = run_both("cholesky", positive.astype(dtype), upper=upper)
            np.testing.assert_allclose(factor, expected, rtol, rtol / 10)
            right = RNG.standard_normal((2, n + 3, n)).astype(dtype).swapaxes(1, 2)
            for matrix, above in ((factor, upper), (factor.swapaxes(1, 2), not upper)):
                for unit in (False, True):
                    near = matrix / n if unit else matrix
                    attrs = {"upper": above, "unitriangular": unit}
                    (solved,), (found,) = run_both("solve_triangular_left", near, right, **attrs)
                    np.testing.assert_allclose(solved, found, rtol, rtol)


def test_places_that_are_not_distinct_and_labels_that_are_no_class_are_reported(compiled: Callable[..., bool]) -> None:
    index, attrs = np.array([[0, 2], [1, 0]]), {"axis": 0, "extent": 3}
    assert compiled("distinct_index", [index], [np.zeros_like(index)], attrs)
    assert not compiled("distinct_index", [index], [np.zeros_like(index)], {**attrs, "axis": 1, "extent": 2})
    labels, outputs = np.array([[0, 3, -1]]), [np.zeros((1, 3), np.int64), *(np.zeros((1, 3), bool) for _ in range(2))]
    assert not compiled("listed_labels", [labels], outputs, {})


def test_a_matrix_that_is_not_positive_definite_is_reported(compiled: Callable[..., bool]) -> None:
    x = np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0])])
    assert not compiled("cholesky", [x], [np.zeros_like(x)], {"upper": False, "check": True})
    assert compiled("cholesky", [x[:1]], [np.zeros_like(x[:1])], {"upper": False, "check": True})


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_half_types_are_moved_by_their_bits(half: str, run_both: RunBoth) -> None:
    x = numbers(3, 4).astype(BFLOAT16 if half == "bfloat16" else half)
    rows, places = np.array([2, 0, -1]), RNG.integers(-3, 3, (2, 4))
    for op, operands, attrs in (
        ("pad", [x], {"widths": ((1, 0), (0, 2)), "value": 1.5}),
        ("tril", [x], {}),
        ("copy", [x], {}),
        ("embedding", [x, rows], {}),
        ("index_get", [x, rows], {"axes": (0,)}),
        ("gather", [x, places], {"axis": 0}),
        ("gather", [x, RNG.integers(-4, 4, (3, 2))], {"axis": 1}),
    ):
        ((actual,), (wanted,)) = run_both(op, *operands, **attrs)
        np.testing.assert_array_equal(actual.view(np.uint16), wanted.view(np.uint16))


@each_row(
    ("op", "shapes", "attrs"),
    [
        ("one_hot", [(2,)], {"classes": 5, "dtype": np.dtype("float32")}),
        ("index_get", [(5, 3), (2,)], {"axes": (0,)}),
        ("index_scatter", [(2, 3), (2,)], {"axes": (0,), "shape": (5, 3)}),
    ],
)
@each_row("wrong", [5, -6, 2**40])
def test_a_place_that_is_none_is_reported(
    op: str, shapes: list[tuple[int, ...]], attrs: dict[str, Any], wrong: int, compiled: Callable[..., bool]
) -> None:
    index, others = np.array([1, wrong]), [numbers(*shape) for shape in shapes[:-1]]
    out = np.zeros({"one_hot": (2, 5), "index_get": (2, 3), "index_scatter": (5, 3)}[op], attrs.get("dtype"))
    assert not compiled(op, [*others, index], [out], attrs)
    index[1] = 4
    assert compiled(op, [*others, index], [out], attrs)


SCATTERED: dict[str, tuple[str, list[Array], dict[str, Any]]] = {
    "softmax of a transpose": ("softmax", [numbers(5, 7).T], {"axis": -1}),
    "embedding in a view": ("embedding", [numbers(6, 8)[:, ::2], np.array([5, 0, -1])], {}),
    "sum of a diagonal": ("sum", [numbers(4, 4).diagonal()], {}),
    "places apart": ("reshape", [numbers(2, 3, 4, 5, 2, 3).transpose(0, 2, 4, 1, 3, 5)[:, ::2]], {"shape": (-1,)}),
    "convolution": (
        "convolution",
        [numbers(2, 6, 9, 3).transpose(0, 3, 1, 2), numbers(4, 3, 3, 3)],
        {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1},
    ),
}


@each_row("name", SCATTERED)
def test_operands_that_lie_apart_are_copied_first(name: str, run_both: RunBoth) -> None:
    op, operands, attrs = SCATTERED[name]
    ((actual,), (wanted,)) = run_both(op, *operands, **attrs)
    np.testing.assert_allclose(actual, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_half_types_are_computed_in_float32(half: str, run_both: RunBoth) -> None:
    dtype = BFLOAT16 if half == "bfloat16" else np.dtype(half)
    for op, operands, attrs in (
        ("softmax", [numbers(5, 7).T], {"axis": -1}),
        ("sub", [numbers(5, 7), numbers(5, 1)], {}),
        ("mul", [numbers(5, 7), numbers(7)], {}),
        ("gelu", [numbers(50)], {}),
        ("amax", [numbers(9, 4, 5)], {"axis": (1,)}),
        ("amin", [numbers(9, 4, 5)], {"axis": (0,)}),
        ("scatter_add", [numbers(9, 4), np.tile([1, 0], (9, 2))], {"axis": 1, "shape": (9, 2)}),
    ):
        wide = [x.astype(dtype).astype(np.float32) if x.dtype.kind == "f" else x for x in operands]
        ((exact,), _) = run_both(op, *wide, **attrs)
        narrow = [x.astype(dtype) if x.dtype.kind == "f" else x for x in operands]
        ((actual,), _) = run_both(op, *narrow, **attrs)
        np.testing.assert_array_equal(actual.view(np.uint16), exact.astype(dtype).view(np.uint16), err_msg=op)


def test_results_that_lie_apart_are_copied_last(run_both: RunBoth) -> None:
    whole = np.zeros((7, 2, 5))
    x = numbers(5, 7).T
    ((actual,), (wanted,)) = run_both("softmax", x, axis=-1, outputs=[whole[:, 1]])
    np.testing.assert_allclose(actual, wanted, rtol=1e-12)
    assert not whole[:, 0].any()
