"""float16: every op gives what float32 gives, rounded; sums, means and losses overflow only where their result does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy import inf

from engine.ops import OPS
from engine.registry import Op
from engine.value import Array, tensor

ULPS = 2
"""Numbers of float16 that may lie between an op's result and float32's, rounded."""


def steps_between(a: Array, b: Array) -> Array:
    """Count the float16 numbers between a and b; NaN is next to NaN only."""
    bits = [np.ascontiguousarray(x).view(np.int16).astype(np.int64) for x in (a, b)]
    places = [np.where(x < 0, -(x & 0x7FFF), x) for x in bits]
    apart = np.where(np.isnan(a) | np.isnan(b), 2**16, np.abs(places[0] - places[1]))
    return np.asarray(np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, apart))


def results(op: Op[Any], arrays: list[Array], attrs: dict[str, Any]) -> list[Array]:
    made = op(*[tensor(array) for array in arrays], **attrs)
    return [value.numpy() for value in (made if isinstance(made, tuple) else (made,))]


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in OPS.values()])
def test_an_op_rounds_float16_only_at_the_end(op: Op[Any]) -> None:
    for number, sample in enumerate(op.samples):
        drawn = [np.asarray(array) for array in sample.arrays(f"{op.name}-{number}")]
        narrow = [array.astype(np.float16) if array.dtype.kind == "f" else array for array in drawn]
        wide = [array.astype(np.float32) if array.dtype == np.float16 else array for array in narrow]
        if not any(array.dtype == np.float16 for array in narrow):
            continue
        found = zip(results(op, narrow, sample.attrs), results(op, wide, sample.attrs), strict=True)
        for result, expected in found:
            if result.dtype == np.float16:
                with np.errstate(over="ignore"):
                    assert steps_between(result, expected.astype(np.float16)).max(initial=0) <= ULPS
            elif result.dtype.kind != "f":
                np.testing.assert_array_equal(result, expected)


TWENTIES = np.full(4096, 20.0)
BIG = np.array([60000.0, 60000.0])
WAVE = np.tile([300.0, -300.0], 2048)

# (op, inputs, attributes, the first number of the result)
KNOWN: list[tuple[str, list[Any], dict[str, Any], float]] = [
    ("sum", [TWENTIES], {}, inf),
    ("mean", [TWENTIES], {}, 20),
    ("nanmean", [TWENTIES], {}, 20),
    ("sum", [np.ones(4096)], {}, 4096),
    ("prod", [[300.0, 300.0, 0.001]], {}, 90),
    ("std", [WAVE], {"correction": 0}, 300),
    ("norm", [WAVE], {}, 19200),
    ("logsumexp", [BIG], {}, 60000),
    ("softmax", [BIG], {}, 0.5),
    ("matmul", [[[300.0]], [[300.0]]], {}, inf),
    ("matmul", [TWENTIES[None], np.full((4096, 1), 0.01)], {}, 819.5),
    ("linear", [np.array([[300.0]]), np.array([[300.0]]), np.array([-60000.0])], {}, 30000),
    ("conv2d", [np.full((1, 64, 8, 8), 20.0), np.full((1, 64, 8, 8), 0.01)], {}, 819.5),
    ("avg_pool2d", [np.full((1, 1, 64, 64), 60000.0)], {"kernel": 64}, 60000),
    ("layer_norm", [np.tile([30000.0, -30000.0], 8)], {}, 1),
    ("rms_norm", [np.tile([30000.0, -30000.0], 8)], {}, 1),
    ("mse_loss", [np.array([300.0, 0.0, 0.0, 0.0]), np.zeros(4)], {}, 22500),
    ("cosine_similarity", [BIG, BIG], {"axis": 0}, 1),
    ("scatter_add", [np.ones(4096), np.zeros(4096, int)], {"axis": 0, "shape": (1,)}, 4096),
    ("add_rows", [np.ones((4096, 2)), np.zeros(4096, int)], {"rows": 1}, 4096),
    ("scaled_dot_product_attention", [np.full((2, 512), 20.0), np.full((3, 512), 20.0), np.ones((3, 1))], {}, 1),
    ("softplus", [[15.0]], {}, 15),
]


@pytest.mark.parametrize(("name", "inputs", "attrs", "first"), KNOWN)
def test_nothing_overflows_or_is_lost_on_the_way(
    name: str, inputs: list[Any], attrs: dict[str, Any], first: float
) -> None:
    arrays = [np.asarray(x) for x in inputs]
    narrow = [x.astype(np.float16) if x.dtype.kind == "f" else x for x in arrays]
    result = results(OPS[name], narrow, attrs)[0]
    assert result.dtype == np.float16
    assert result.reshape(-1)[0] == pytest.approx(first, rel=1e-3)
