"""float16 and bfloat16: sums overflow only where their result does, and digits are lost only in the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy import inf

from engine.autograd.differentiate import gradcheck
from engine.core.dtypes import BFLOAT16, FLOAT16, FLOAT32, DType
from engine.core.errors import DTypeError
from engine.core.registry import Op
from engine.core.value import Array, tensor
from engine.ops import OPS
from tests.support.rows import each_row

pytestmark = pytest.mark.law

assert BFLOAT16 is not None
HALVES = (FLOAT16, BFLOAT16)


def results(op: Op[Any], arrays: list[Array], attrs: dict[str, Any]) -> list[Array]:
    created = op(*map(tensor, arrays), **attrs)
    return [value.numpy() for value in (created if isinstance(created, tuple) else (created,))]


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


@each_row(("name", "inputs", "attrs", "first"), KNOWN)
def test_nothing_overflows_or_is_lost_on_the_way(
    name: str, inputs: list[Any], attrs: dict[str, Any], first: float
) -> None:
    arrays = [np.asarray(x) for x in inputs]
    narrow = [x.astype(np.float16) if x.dtype.kind == "f" else x for x in arrays]
    result = results(OPS[name], narrow, attrs)[0]
    assert result.dtype == np.float16
    assert result.reshape(-1)[0] == pytest.approx(first, rel=1e-3)


# bfloat16 has the range of float32 and 8 digits: here it is the digits that could get lost on the way.
DIGITS: list[tuple[str, list[Any], dict[str, Any], float]] = [
    ("square", [[300.0]], {}, 90112),
    ("sum", [TWENTIES], {}, 81920),
    ("sum", [np.ones(4096)], {}, 4096),
    ("sum", [np.ones((4096, 2))], {"axis": 0}, 4096),
    ("mean", [TWENTIES], {}, 20),
    ("cumsum", [np.ones(4096)], {"axis": 0}, 1),
    ("logsumexp", [BIG], {}, 59904),
    ("softmax", [BIG], {}, 0.5),
    ("matmul", [np.ones((1, 4096)), np.ones((4096, 1))], {}, 4096),
    ("scatter_add", [np.ones(4096), np.zeros(4096, int)], {"axis": 0, "shape": (1,)}, 4096),
    ("add_rows", [np.ones((4096, 2)), np.zeros(4096, int)], {"rows": 1}, 4096),
    ("nan_to_num", [[inf]], {}, 3.3895313892515355e38),
    ("cast", [np.array([1 + 2.0**-8])], {"dtype": "bfloat16"}, 1),  # ties go to even
    ("cast", [np.array([1 + 3 * 2.0**-8])], {"dtype": "bfloat16"}, 1 + 2.0**-6),
    ("cast", [np.array([16777217])], {"dtype": "bfloat16"}, 16777216),
    ("zeros", [], {"shape": (2,), "dtype": "bfloat16"}, 0),
    ("full", [], {"shape": (2,), "value": 0.1, "dtype": "bfloat16"}, 0.10009765625),
    ("arange", [], {"start": 257, "stop": 259, "dtype": "bfloat16"}, 256),
    ("linspace", [], {"start": 0.1, "stop": 1.0, "steps": 3, "dtype": "bfloat16"}, 0.10009765625),
    ("eye", [], {"rows": 2, "dtype": "bfloat16"}, 1),
    ("one_hot", [np.array([0])], {"classes": 2, "dtype": "bfloat16"}, 1),
    ("sinusoidal_encoding", [], {"length": 2, "dims": 4, "dtype": "bfloat16"}, 0),
]


@each_row(("name", "inputs", "attrs", "first"), DIGITS)
def test_bfloat16_loses_digits_only_in_the_result(
    name: str, inputs: list[Any], attrs: dict[str, Any], first: float
) -> None:
    arrays = [np.asarray(x) for x in inputs]
    narrow = [x.astype(BFLOAT16) if x.dtype.kind == "f" and name != "cast" else x for x in arrays]
    result = results(OPS[name], narrow, attrs)[0]
    assert result.dtype is BFLOAT16
    assert float(result.reshape(-1)[0]) == first


DRAWS = [op.name for op in OPS.values() if op.random and "dtype" in op.attributes and op.name != "random_integers"]


@each_row("half", HALVES, ids=str)
@each_row("name", DRAWS)
def test_draws_of_a_half_type_stay_in_their_range(name: str, half: DType) -> None:
    lowest, highest = {
        "random_uniform": (0, np.nextafter(half.type(1), half.type(0))),
        "random_normal": (-6, 6),
        "truncated_normal": (-2, 2),
        "exponential": (1e-38, 20),
        "random_beta": (0, 1),
        "dropout_mask": (0, 2),
    }[name]
    numbers = results(OPS[name], [np.array([1, 2])], {"shape": (20000,), "dtype": half})[0]
    assert numbers.dtype == half
    wide = numbers.astype(FLOAT32)
    assert float(lowest) <= wide.min() < wide.max() <= float(highest)


def test_a_gradient_has_the_type_of_its_parameter() -> None:
    w = tensor([1.0, 2.0], dtype="bfloat16", requires_grad=True)
    b = tensor([0.5], dtype="float16", requires_grad=True)
    loss = OPS["sum"](w * tensor([3.0, 4.0]) + b)
    assert loss.dtype == FLOAT32
    loss.backward()
    assert (w.grad.dtype, b.grad.dtype) == (BFLOAT16, FLOAT16)
    assert w.grad.numpy().tolist() == [3, 4]
    loss = OPS["sum"](w)
    loss.backward()
    assert w.grad.numpy().tolist() == [4, 5]


def test_bfloat16_goes_to_numpy_and_back() -> None:
    value = tensor([1.5, 3e38, -inf], dtype="bfloat16")
    assert value.numpy().dtype is BFLOAT16
    assert tensor(value.numpy()).dtype is BFLOAT16
    assert value.numpy().astype(FLOAT32).tolist() == [1.5, float(BFLOAT16.type(3e38)), -inf]
    assert tensor(1.5, dtype="bfloat16").item() == 1.5
    assert "bfloat16" in repr(value)


def test_gradcheck_refuses_half_types() -> None:
    for half in (FLOAT16, BFLOAT16):
        with pytest.raises(DTypeError, match="gradcheck needs float64"):
            gradcheck(lambda x: x * x, np.ones(2, half))
