"""Optimizers whose kernels add up the squares of the gradient too: the same bits as by a kernel of its own."""

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
