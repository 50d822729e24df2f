"""Losses, layers and indices at their edges: nothing to average, ignored rows, infinities, duplicates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from engine.core.errors import EngineError, ShapeError
from engine.core.value import Array, tensor
from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
INF, NAN = math.inf, math.nan


class Known(NamedTuple):
    """A call with its known first result and the gradients of the sum of that; None is not compared."""

    row: str
    case: str
    op: str
    inputs: list[Any]
    attrs: dict[str, Any]
    value: Any
    gradients: list[Any]


def whole(*numbers: Any) -> Array:
    """An array of integers, which gets no gradient."""
    return np.array(numbers, np.int64)


SLOPE = math.sqrt(1e5)
CE_LOGITS = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
CE_TARGET = whole(2, -100, 0)
CLASS_WEIGHTS = np.array([1.0, 2.0, 3.0])
UNIFORM = np.full((3, 1, 4), -math.log(4))
BAGS = np.array([[1.0], [2.0], [4.0]])

# fmt: off
KNOWN = [
    Known("layer norm of constants", "0, slope 1 / sqrt(eps)", "layer_norm", [[[5.0, 5.0]], [1.0, 2.0], [0.0, 0.0]], {},
          [[0, 0]], [[[-SLOPE / 2, SLOPE / 2]], [0, 0], [1, 1]]),
    Known("probability 0 of what came", "BCE at p = 0", "bce_loss", [[0.0], [1.0]], {}, 100, [[-1e12], None]),
    Known("probability 0 of what came", "BCE at p = 0, mean of two", "bce_loss", [[0.0, 0.5], [1.0, 1.0]], {},
          50 + math.log(2) / 2, [[-5e11, -1.0], None]),
    Known("wrong logits of 1000", "BCE with logits", "bce_with_logits_loss", [[-1000.0, 1000.0], [1.0, 0.0]], {}, 1000,
          [[-0.5, 0.5], None]),
    Known("cross entropy", "an ignored row", "cross_entropy", [CE_LOGITS, CE_TARGET], {}, 0.7531091265562451,
          [[[0.04501528658519022, 0.12236423552739882, -0.1673795221125891], [0, 0, 0], [-1 / 3, 1 / 6, 1 / 6]]]),
    Known("cross entropy", "all ignored: NaN, no gradient", "cross_entropy", [CE_LOGITS, whole(-100, -100, -100)], {},
          NAN, [np.zeros((3, 3))]),
    Known("smoothed cross entropy", "smoothing 0.1", "cross_entropy", [CE_LOGITS, CE_TARGET],
          {"label_smoothing": 0.1}, 0.8031091265562451, []),
    Known("smoothed cross entropy", "smoothing 0.1 and weights", "cross_entropy", [CE_LOGITS, CE_TARGET, CLASS_WEIGHTS],
          {"label_smoothing": 0.1}, 0.6309660369392392, []),
    Known("smoothed cross entropy", "weights alone", "cross_entropy", [CE_LOGITS, CE_TARGET, CLASS_WEIGHTS], {},
          0.5803575455003127, []),
    Known("cross entropy of a -inf logit", "not the target", "cross_entropy", [[[0.0, -INF]], whole(0)], {}, 0,
          [[[0, 0]]]),
    Known("cross entropy of a -inf logit", "the target", "cross_entropy", [[[0.0, -INF]], whole(1)], {}, INF,
          [[[1, -1]]]),
    Known("cross entropy of a -inf logit", "soft labels", "cross_entropy", [[[0.0, -INF]], [[1.0, 0.0]]], {}, NAN, []),
    Known("kl_div", "0 log 0 counts as 0", "kl_div", [[-1.0, -2.0], [0.0, 1.0]], {"reduction": "sum"}, 2,
          [[0, -1], None]),
    Known("embedding of duplicates", "rows add up", "embedding", [np.zeros((2, 1)), whole(1, 1, 0)], {},
          [[0], [0], [0]], [[[1], [2]]]),
    Known("embedding of duplicates", "cotangents 1, 2, 4", "add_rows", [BAGS, whole(1, 1, 0)], {"rows": 3},
          [[4], [3], [0]], [[[1], [1], [1]]]),
    Known("embedding of duplicates", "the padding row gets none", "embedding", [np.ones((2, 1)), whole(1, 1, 0)],
          {"padding_idx": 0}, [[1], [1], [1]], [[[0], [2]]]),
    Known("reading duplicates", "index_select [0, 0, 2]", "index_select", [[1.0, 2.0, 3.0], whole(0, 0, 2)], {},
          [1, 1, 3], [[2, 0, 1]]),
    Known("reading duplicates", "index_get [0, 0, 2]", "index_get", [[1.0, 2.0, 3.0], whole(0, 0, 2)], {"axes": (0,)},
          [1, 1, 3], [[2, 0, 1]]),
    Known("reading duplicates", "gather [0, 0, 2]", "gather", [[1.0, 2.0, 3.0], whole(0, 0, 2)], {"axis": 0},
          [1, 1, 3], [[2, 0, 1]]),
    Known("scattering duplicates", "accumulate", "scatter", [[0.0, 0.0], whole(1, 1), [3.0, 5.0]],
          {"axis": 0, "accumulate": True}, [0, 8], [[1, 1], [1, 1]]),
    Known("scattering duplicates", "unsafe", "scatter", [[0.0, 0.0], whole(1, 1), [3.0, 5.0]],
          {"axis": 0, "unsafe": True}, [0, 5], [[1, 0], [1, 1]]),
    Known("scatter_reduce", "amax, a tie of three", "scatter_reduce", [[7.0, 2.0], whole(0, 0, 1), [7.0, 7.0, 1.0]],
          {"axis": 0, "reduce": "amax"}, [7, 2], [[1 / 3, 1], [1 / 3, 1 / 3, 0]]),
    Known("losses at 0", "huber", "huber_loss", [[2.0], [2.0]], {}, 0, [[0], [0]]),
    Known("losses at 0", "smooth_l1, beta 0", "smooth_l1_loss", [[2.0], [2.0]], {"beta": 0.0}, 0, [[0], [0]]),
    Known("losses at 0", "l1", "l1_loss", [[2.0], [2.0]], {}, 0, [[0], [0]]),
    # The slope by log-probabilities as they are; PyTorch's takes in that of the log_softmax before them.
    Known("CTC", "label [1, 1], mean over its length", "ctc_loss", [UNIFORM, whole([1, 1]), whole(3), whole(2)], {},
          3 * math.log(4) / 2, [[[[0, -0.5, 0, 0]], [[-0.5, 0, 0, 0]], [[0, -0.5, 0, 0]]]]),
    Known("CTC", "label [1, 1], sum", "ctc_loss", [UNIFORM, whole([1, 1]), whole(3), whole(2)], {"reduction": "sum"},
          3 * math.log(4), []),
    Known("CTC", "too few steps", "ctc_loss", [UNIFORM[:2], whole([1, 1]), whole(2), whole(2)], {}, INF, []),
    Known("CTC", "too few steps, zero_infinity", "ctc_loss", [UNIFORM[:2], whole([1, 1]), whole(2), whole(2)],
          {"zero_infinity": True}, 0, [np.zeros((2, 1, 4))]),
    Known("CTC", "an empty label", "ctc_loss", [UNIFORM, np.zeros((1, 0), np.int64), whole(3), whole(0)], {},
          3 * math.log(4), []),
]
# fmt: on


@each_row("known", KNOWN, ids=lambda known: f"{known.row}: {known.case}")
def test_an_edge_of_a_loss_or_a_layer_has_its_known_answer(known: Known, check_edge: CheckEdge) -> None:
    check_edge(known.op, known.inputs, known.attrs, known.value, known.gradients)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("cross_entropy", [np.zeros((0, 3)), np.zeros(0, np.int64)]),
        ("cross_entropy", [np.zeros((0, 3)), np.zeros((0, 3))]),
        ("mse_loss", [np.zeros((0, 3)), np.zeros((0, 3))]),
    ],
    ids=["cross entropy", "cross entropy with probabilities", "squared error"],
)
def test_the_mean_loss_of_an_empty_batch_is_nan_with_a_warning(name: str, inputs: list[Array]) -> None:
    x = tensor(inputs[0], requires_grad=True)
    with pytest.warns(RuntimeWarning, match="mean loss of an empty batch is nan"):
        loss = OPS[name](x, inputs[1])
    assert math.isnan(loss.item())
    loss.backward()
    assert x.grad is not None
    assert x.grad.shape == (0, 3)


@pytest.mark.parametrize("shape", [(1, 3), (1, 3, 1)])
def test_batch_norm_refuses_one_value_per_channel_in_training(shape: tuple[int, ...]) -> None:
    statistics = np.ones(3), np.zeros(3), np.zeros(3), np.ones(3)
    with pytest.raises(ShapeError, match="expected more than 1 value per channel"):
        OPS["batch_norm"](np.zeros(shape), *statistics, training=True)


def test_batch_norm_of_two_values_moves_by_the_unbiased_variance_and_differentiates_the_statistics() -> None:
    x = tensor(np.array([[1.0], [3.0]]), requires_grad=True)
    y, mean, var = OPS["batch_norm"](x, np.ones(1), np.zeros(1), np.zeros(1), np.ones(1), momentum=0.1, training=True)
    assert [mean.item(), var.item()] == pytest.approx([0.2, 1.1], rel=1e-14)
    (y * np.array([[1.0], [2.0]])).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [[-4.9999250e-6], [4.9999250e-6]], rtol=1e-7)


def test_the_gradient_of_duplicates_that_overwrite_is_refused() -> None:
    source = tensor(np.array([3.0, 5.0]), requires_grad=True)
    created = OPS["scatter"](np.zeros(2), whole(1, 1), source, axis=0)
    assert created.numpy().tolist() == [0, 5]
    with pytest.raises(EngineError, match="not defined; use distinct indices, add the values up instead"):
        created.sum().backward()


ROWS = (
    "empty batch", "batch norm of one value", "batch norm of two values", "layer norm of constants",
    "probability 0 of what came", "wrong logits of 1000", "cross entropy", "smoothed cross entropy",
    "cross entropy of a -inf logit", "kl_div", "embedding of duplicates", "reading duplicates",
    "scattering duplicates", "scatter_reduce", "losses at 0", "CTC",
)  # fmt: skip
SHOWN_APART = {
    "empty batch": test_the_mean_loss_of_an_empty_batch_is_nan_with_a_warning,
    "batch norm of one value": test_batch_norm_refuses_one_value_per_channel_in_training,
    "batch norm of two values": (
        test_batch_norm_of_two_values_moves_by_the_unbiased_variance_and_differentiates_the_statistics
    ),
}


def test_every_row_has_a_case() -> None:
    assert {known.row for known in KNOWN} | SHOWN_APART.keys() == set(ROWS)
