"""Squares of gradients that other kernels add up too: of optimizers, with the same bits as their own, and of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from engine.core.attributes import bind
from engine.core.registry import OPS
from engine.core.value import Array
from engine.execution.native.gradient_squares import joined_squares
from engine.execution.native.kernels.optimizer_updates import BLOCK
from engine.execution.native.lowering import Call, Work
from engine.execution.native.packing import calls_of

NUMBERS = {"adam_update": (0.9, 1e-2, 0.03, 1.7), "sgd_update": (1e-2,), "momentum_update": (0.9, 0.7, 1e-2)}
VECTORS = {"adam_update": 4, "sgd_update": 2, "momentum_update": 3}


def steps(name: str, vectors: Sequence[Array], gradient: Array, squares: Array) -> list[list[Call]]:
    """Return the calls that sum squares, and those of a step in place whose gradient is the first of the vectors."""
    op = OPS[name]
    numbers = [np.array(number) for number in NUMBERS[name]]
    stepping = calls_of(name, Work([*vectors, *numbers], vectors[1:], bind(name, op.attributes, {"weight_decay": 0.1})))
    summing = calls_of("sum_of_squares", Work([gradient], [squares], {}))
    assert summing is not None
    assert stepping is not None
    return [summing, stepping]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, BLOCK - 1, 3 * BLOCK + 77])
@pytest.mark.parametrize("name", NUMBERS)
def test_squares_added_up_by_a_step_are_those_of_their_kernel(
    name: str, size: int, dtype: Any, run_calls: Callable[[Sequence[Call]], bool]
) -> None:
    draw = np.random.default_rng(0)
    drawn = [abs(draw.standard_normal(size)).astype(dtype) for _ in range(VECTORS[name])]
    results = []
    for join in (list, joined_squares):
        vectors, squares = [x.copy() for x in drawn], np.full((), 7, dtype)
        joined = join(steps(name, vectors, vectors[0], squares))
        assert len(joined) == (2 if join is list else 1)
        for calls in joined:
            assert isinstance(calls, list)
            run_calls(calls)
        results.append([*vectors, squares])
    for apart, together in zip(*results, strict=True):
        np.testing.assert_array_equal(apart, together)


def test_squares_of_another_vector_have_a_kernel_of_their_own() -> None:
    vectors = [np.ones(8, np.float32) for _ in range(2)]
    for other in (np.ones(8, np.float32), vectors[0][:4]):
        assert len(joined_squares(steps("sgd_update", vectors, other, np.zeros((), np.float32)))) == 2


def table_steps(table: Array, squares: Array, *, apart: Array | None = None) -> list[list[Call]]:
    """Return the calls that add rows to a table and sum its squares; between them one that writes to `apart`."""
    x, index = np.arange(12, dtype=table.dtype).reshape(4, 3), np.array([5, 2, 5, 0])
    adding = calls_of("add_rows", Work([x, index], [table], {"rows": len(table), "padding_idx": None}))
    between = None if apart is None else calls_of("exp", Work([np.zeros_like(apart)], [apart], {}))
    summing = calls_of("sum_of_squares", Work([table], [squares], {}))
    return [step for step in (adding, between, summing) if step is not None]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_of_a_table_are_added_up_by_the_step_that_makes_it(
    dtype: Any, run_calls: Callable[[Sequence[Call]], bool]
) -> None:
    """In columns of a wider one too, and with other steps between."""
    table, squares = np.full((7, 8), np.nan, dtype)[:, 2:5], np.zeros((), dtype)
    joined = joined_squares(table_steps(table, squares, apart=np.ones(4, dtype)))
    assert len(joined) == 2
    for calls in joined:
        assert isinstance(calls, list)
        run_calls(calls)
    wanted = np.zeros((7, 3))
    wanted[0], wanted[2], wanted[5] = (9, 10, 11), (3, 4, 5), (6, 8, 10)
    np.testing.assert_array_equal(table, wanted)
    assert squares == (wanted**2).sum()


def test_squares_are_not_written_where_a_step_between_writes() -> None:
    squares = np.zeros((), np.float32)
    assert len(joined_squares(table_steps(np.zeros((7, 3), np.float32), squares, apart=squares))) == 3


def test_squares_are_those_of_a_table_that_a_step_between_has_changed() -> None:
    table = np.zeros((7, 3), np.float32)
    assert len(joined_squares(table_steps(table, np.zeros((), np.float32), apart=table))) == 3


def test_squares_of_another_table_have_a_kernel_of_their_own() -> None:
    steps = table_steps(np.zeros((7, 3), np.float32), np.zeros((), np.float32))
    others = table_steps(np.zeros((7, 3), np.float32), np.zeros((), np.float32))
    assert len(joined_squares([steps[0], others[1]])) == 2
