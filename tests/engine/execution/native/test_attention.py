"""Compiled attention against NumPy's: views, masks, blocks, heads that share keys and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.value import Array
from tests.support.rows import each_row

DTYPES = ("float32", "float64")


def numbers(*shape: int, seed: int = 0, dtype: str = "float64") -> Array:
    """Draw normal numbers."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def heads_of(x: Array, heads: int) -> Array:
    """View [rows, steps, heads * width] as [rows, heads, steps, width]."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def packed(dtype: str) -> list[Array]:
    """Return queries, keys and values as views of one array."""
    together = numbers(3, 20, 3 * 8, dtype=dtype)
    return [heads_of(part, 2) for part in np.split(together, 3, axis=2)]


CASES: dict[str, tuple[Callable[[str], list[Array]], dict[str, Any]]] = {
    "views of one array": (packed, {"scale": 0.5}),
    "causal views": (packed, {"scale": 0.5, "causal": True}),
    "several causal blocks": (
        lambda dtype: [numbers(2, 150, 4, seed=i, dtype=dtype) for i in range(3)], {"causal": True, "scale": 0.7}
    ),
    "several blocks": (
        lambda dtype: [numbers(600, 4, dtype=dtype), numbers(130, 4, dtype=dtype), numbers(130, 3, dtype=dtype)], {}
    ),
    "fewer rows than columns, causal": (
        lambda dtype: [numbers(2, 5, 4, dtype=dtype), numbers(2, 37, 4, dtype=dtype), numbers(2, 37, 6, dtype=dtype)],
        {"causal": True},
    ),
    "more rows than columns, causal": (
        lambda dtype: [numbers(2, 70, 4, dtype=dtype), numbers(2, 18, 4, dtype=dtype), numbers(2, 18, 6, dtype=dtype)],
        {"causal": True},
    ),
    "shared keys and values": (
        lambda dtype: [
            numbers(2, 2, 3, 6, 4, dtype=dtype), numbers(2, 2, 1, 6, 4, dtype=dtype),
            numbers(2, 2, 1, 6, 5, dtype=dtype),
        ],
        {"causal": True},
    ),
    "shared queries": (
        lambda dtype: [numbers(6, 4, dtype=dtype), numbers(3, 7, 4, dtype=dtype), numbers(3, 7, 5, dtype=dtype)], {}
    ),
    "one row, one column": (lambda dtype: [numbers(2, 1, 4, seed=i, dtype=dtype) for i in range(3)], {}),
    "float mask": (lambda dtype: [*packed(dtype), numbers(20, 20, dtype=dtype)], {"scale": 0.5}),
    "float mask of each row": (lambda dtype: [*packed(dtype), numbers(3, 1, 20, 1, dtype=dtype)], {"causal": True}),
    "mask of keys": (
        lambda dtype: [*packed(dtype), (np.arange(20) < np.array([20, 4, 9])[:, None]).reshape(3, 1, 1, 20)], {}
    ),
    "transposed mask": (lambda dtype: [*packed(dtype), np.asfortranarray(np.tri(20, dtype=bool))], {}),
    "rows that see nothing": (
        lambda dtype: [*packed(dtype), np.arange(20)[:, None] > np.zeros(20)], {"masked_row_zero": True}
    ),
    "rows that see nothing are NaN": (lambda dtype: [*packed(dtype), np.arange(20)[:, None] > np.zeros(20)], {}),
    "large scores": (lambda dtype: [x * 60 for x in packed(dtype)], {"causal": True}),
}  # fmt: skip


@each_row("dtype", DTYPES)
@each_row("case", CASES)
def test_attention_and_its_gradients_are_those_of_numpy(
    case: str, dtype: str, run_both: Callable[..., tuple[list[Array], list[Array]]]
) -> None:
    """On every form of operands, forward and backward."""
    make, attrs = CASES[case]
    near = 3e-5 if dtype == "float32" else 1e-12
    inputs = make(dtype)
    actual, wanted = run_both("attention", *inputs, **attrs)
    for x, y in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=near, atol=near)
    attrs = {name: value for name, value in attrs.items() if name != "masked_row_zero"}
    g, glogs = numbers(*wanted[0].shape, seed=5, dtype=dtype), numbers(*wanted[1].shape, seed=6, dtype=dtype)
    actual, wanted = run_both("attention_backward", g, glogs, *wanted, *inputs, **attrs)
    size = max(1.0, float(np.abs(inputs[0]).max()))
    for x, y in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(x / size, y / size, rtol=near, atol=near)


def test_gradients_are_written_into_views(run_both: Callable[..., tuple[list[Array], list[Array]]]) -> None:
    """Of one array for queries, keys and values, as of their product."""
    inputs = packed("float32")
    y, logs = run_both("attention", *inputs)[1]
    together = np.full((3, 20, 24), 7, np.float32)
    outputs = [heads_of(part, 2) for part in np.split(together, 3, axis=2)]
    g = heads_of(numbers(3, 20, 8, dtype="float32"), 2)
    actual, wanted = run_both("attention_backward", g, np.zeros_like(logs), y, logs, *inputs, outputs=outputs)
    for x, wished in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(x, wished, rtol=3e-5, atol=3e-5)


def test_what_is_not_a_number_stays_so(run_both: Callable[..., tuple[list[Array], list[Array]]]) -> None:
    """A query that is NaN makes its row NaN and no other."""
    q, k, v = (numbers(2, 6, 4, seed=i, dtype="float32") for i in range(3))
    q[0, 2, 1] = np.nan
    for x, y in zip(*run_both("attention", q, k, v), strict=True):
        np.testing.assert_array_equal(np.isnan(x), np.isnan(y))
