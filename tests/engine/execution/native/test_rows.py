"""Compiled kernels of rows against NumPy's: standardization and probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.value import Array
from tests.support.rows import each_row

RunBoth = Callable[..., tuple[list[Array], list[Array]]]
DTYPES = ("float32", "float64")
Make = Callable[[str], list[Array]]


def numbers(*shape: int, seed: int = 0) -> Array:
    """Draw normal numbers."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def spaced(x: Array, dtype: str) -> Array:
    """Return every other row of an array."""
    return np.repeat(x, 2, axis=0).astype(dtype)[::2]


STANDARDIZE: dict[str, tuple[Array, dict[str, Any]]] = {
    "rows": (numbers(3, 5, 37), {"axis": (2,)}),
    "two axes": (numbers(3, 5, 7), {"axis": (1, 2), "eps": 0.1}),
    "without a mean": (numbers(4, 33), {"centre": False}),
    "every other row": (numbers(4, 33), {}),
    "rows of one": (numbers(4, 1), {}),
    "one row": (numbers(19), {}),
    "long rows": (numbers(2, 5000) + 100, {}),
    "long rows without a mean": (numbers(2, 5000) + 100, {"centre": False}),
    "not a number": (np.where(np.arange(12).reshape(3, 4) == 5, np.nan, numbers(3, 4)), {}),
    "infinite": (np.where(np.arange(12).reshape(3, 4) == 5, np.inf, numbers(3, 4)), {}),
    "all alike": (np.full((2, 40), 3.0), {}),
}


@each_row("dtype", DTYPES)
@each_row("case", STANDARDIZE)
def test_standardization_and_its_gradient_are_those_of_numpy(case: str, dtype: str, run_both: RunBoth) -> None:
    """Forward and backward."""
    x, attrs = STANDARDIZE[case]
    x = spaced(x, dtype) if case == "every other row" else x.astype(dtype)
    rtol = 1e-4 if dtype == "float32" else 1e-11
    actual, wanted = run_both("standardize", x, **attrs)
    for got, wished in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(got, wished, rtol=rtol, atol=rtol)
    attrs = {name: value for name, value in attrs.items() if name != "eps"}
    g = numbers(*x.shape, seed=3).astype(dtype)
    actual, wanted = run_both("standardize_backward", g, *wanted, **attrs)
    scale = max(1.0, float(np.nan_to_num(wanted[0], posinf=0, neginf=0).max()))
    np.testing.assert_allclose(actual[0] / scale, wanted[0] / scale, rtol=rtol, atol=rtol)


ROWS: dict[str, Array] = {
    **{f"{length} numbers": 3 * numbers(70, length) for length in (2, 9, 15, 16, 20, 48, 63, 64, 100, 127, 130)},
    "short": numbers(40, 5) * 3,
    "many axes": numbers(2, 3, 4, 21) * 3,
    "every other row": numbers(4, 33) * 3,
    "rows of one": numbers(4, 1),
    "one row": numbers(70),
    "long rows": numbers(2, 5000) * 3,
    "large": numbers(3, 18) * 1e4,
    "-inf": np.where(np.arange(12).reshape(3, 4) % 5 == 0, -np.inf, numbers(3, 4)),
    "nothing but -inf": np.full((2, 4), -np.inf),
    "inf": np.where(np.arange(12).reshape(3, 4) == 5, np.inf, numbers(3, 4)),
    "not a number": np.where(np.arange(12).reshape(3, 4) == 5, np.nan, numbers(3, 4)),
}


@each_row("dtype", DTYPES)
@each_row("case", ROWS)
@each_row("op", ["softmax", "log_softmax"])
def test_probabilities_and_their_gradients_are_those_of_numpy(
    op: str, case: str, dtype: str, run_both: RunBoth
) -> None:
    """Forward and backward."""
    x = spaced(ROWS[case], dtype) if case == "every other row" else ROWS[case].astype(dtype)
    rtol = 1e-5 if dtype == "float32" else 1e-12
    ((actual,), (wanted,)) = run_both(op, x)
    np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=rtol)
    g = numbers(*x.shape, seed=3).astype(dtype)
    ((actual,), (wanted,)) = run_both(f"{op}_backward", g, wanted)
    np.testing.assert_allclose(actual, wanted, rtol=10 * rtol, atol=10 * rtol)


@each_row("dtype", DTYPES)
@each_row("length", [1, 2, 3, 4, 7, 8, 15, 16])
@each_row("rows", [1, 15, 69])
def test_sums_of_short_rows_are_those_of_numpy(length: int, rows: int, dtype: str, run_both: RunBoth) -> None:
    """Whether or not rows fill a block of those that are summed together, contiguous or apart."""
    x = numbers(rows, 2 * length).astype(dtype)
    for operand in (x, x[:, :length]):
        ((actual,), (wanted,)) = run_both("sum", operand, axis=1)
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=32 * np.finfo(dtype).eps)


@each_row("dtype", DTYPES)
@each_row("columns", [1, 2, 3, 5, 16, 24, 64, 65])
@each_row("rows", [3, 8, 61, 301])
def test_sums_of_short_columns_are_those_of_numpy(columns: int, rows: int, dtype: str, run_both: RunBoth) -> None:
    """Whether or not several rows are added up as one, with rows left over; contiguous or apart, and of two lots."""
    x = numbers(2, rows, 2 * columns).astype(dtype)
    for operand, axis in ((x[0], 0), (x[0, :, :columns], 0), (x, 1), (x[..., :columns], 1), (x, (0, 1))):
        ((actual,), (wanted,)) = run_both("sum", operand, axis=axis)
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=8 * rows * np.finfo(dtype).eps)


MASKS: dict[str, tuple[list[Array], dict[str, Any]]] = {
    "none": ([], {"scale": 0.5}),
    "one for all": ([numbers(6, 21)], {}),
    "of keys": ([numbers(2, 1, 1, 21) > 0], {"scale": 2.0}),
    "of rows": ([numbers(6, 1) > 0], {}),
    "of rows, zero": ([numbers(6, 1) > 0], {"masked_row_zero": True}),
    "of heads": ([numbers(3, 1, 21)], {"masked_row_zero": True}),
}


@each_row("dtype", DTYPES)
@each_row("case", MASKS)
def test_masked_softmax_is_that_of_numpy(case: str, dtype: str, run_both: RunBoth) -> None:
    """With every shape of masks."""
    masks, attrs = MASKS[case]
    masks = [mask if mask.dtype == bool else mask.astype(dtype) for mask in masks]
    rtol = 1e-5 if dtype == "float32" else 1e-12
    ((actual,), (wanted,)) = run_both("soft_max", numbers(2, 3, 6, 21).astype(dtype), *masks, **attrs)
    np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=rtol)


@each_row("dtype", DTYPES)
@each_row("classes", [3, 32, 33, 100, 128, 5003])
def test_cross_entropy_of_few_and_many_classes_is_that_of_numpy(classes: int, dtype: str, run_both: RunBoth) -> None:
    """Losses and probabilities, of a row with NaN, of -inf and of an ignored target too."""
    logits, target = 8 * numbers(5, classes).astype(dtype), np.array([0, 1, -100, 2, classes - 1])
    logits[1, 2], logits[3, 0] = np.nan, -np.inf
    rtol = 1e-5 if dtype == "float32" else 1e-12
    actual, wanted = run_both("softmax_cross_entropy", logits, target)
    for mine, numpys in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(mine, numpys, rtol=rtol, atol=rtol)
