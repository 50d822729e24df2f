"""Recurrent layers: PyTorch's numbers, equality with cells written out, rows of unequal length, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.autograd.scan import scan
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.value import Array, Value, tensor
from engine.ops import OPS
from engine.ops.recurrent.recurrent import gru_cell, lstm_cell, rnn_cell
from tests.support.rows import each_row

GATES = {"rnn": 1, "lstm": 4, "gru": 3}


def wave(*shape: int) -> Array:
    return np.sin(np.arange(np.prod(shape)) * 1.3 + len(shape)).reshape(shape) * 0.7


def weights(kind: str, *into: int, hidden: int, directions: int = 1, bias: bool = True) -> list[Array]:
    rows = GATES[kind] * hidden
    created = []
    for size in into:
        for _ in range(directions):
            created += [wave(rows, size), wave(rows, hidden)] + [wave(rows)] * (2 if bias else 0)
    return created


# Outputs and last states of PyTorch 2.13's packed bidirectional layers over rows of 3 and 2 steps.
PACKED = {
    "rnn": (
        [0.864717949282, 0.958890596847, 0.692156724792, 0.852704791977, 0.973406045058, 0.974373516592,
         0.838564312285, 0.650262443354, 0.968165087828, 0.89421304603, 0, 0],
        [[0.968165087828, 0.838564312285, 0.958890596847, 0.852704791977]],
    ),
    "lstm": (
        [-0.143896596632, -0.175182981357, -0.066158738985, -0.118140427966, -0.089337477391, -0.040951804007,
         -0.194875249749, -0.139807541959, -0.035527149786, -7.1603365e-05, 0, 0],
        [[-0.035527149786, -0.194875249749, -0.175182981357, -0.118140427966],
         [-0.279438440585, -0.877725499047, -0.733590932301, -0.777950749689]],
    ),
    "gru": (
        [-0.167991879545, -0.215749847939, -0.111209689602, -0.201573590837, -0.154752526932, -0.071067155689,
         -0.220545882351, -0.132757248527, -0.043800687972, 0.021677038111, 0, 0],
        [[-0.043800687972, -0.220545882351, -0.215749847939, -0.201573590837]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", PACKED)
def test_packed_layers_in_both_directions_are_pytorchs(kind: str) -> None:
    inputs = weights(kind, 2, hidden=1, directions=2)
    y, *ends = OPS[kind](wave(3, 2, 2), *inputs, np.array([3, 2]), bidirectional=True, packed=True)
    outputs, states = PACKED[kind]
    np.testing.assert_allclose(y.numpy().reshape(-1), outputs, rtol=0, atol=1e-11)
    np.testing.assert_allclose([end.numpy().reshape(-1) for end in ends], states, rtol=0, atol=1e-11)


def by_cells(kind: str, x: Value, *rest: Value) -> tuple[Value, ...]:
    """One layer in one direction, step by step, from states given last."""
    count = 2 if kind == "lstm" else 1
    cell, w = {"rnn": rnn_cell, "lstm": lstm_cell, "gru": gru_cell}[kind], rest[:-count]

    def step(carry: Any, row: Value) -> tuple[Any, Value]:
        created = cell(row, *carry, *w)
        created = created if isinstance(created, tuple) else (created,)
        return created, created[0]

    ends, ys = scan(step, rest[-count:], x)
    return (ys, *ends)


def with_gradients(results: tuple[Value, ...], leaves: list[Value]) -> list[Array]:
    """First gradients of a weighted sum of the results, and second ones of a weighted sum of those."""
    cotangents = [tensor(np.cos(np.arange(y.size)).reshape(y.shape)) for y in results]
    first = pull_back(results, cotangents, leaves)
    total = OPS["sum"](first[0] * first[0])
    for gradient in first[1:]:
        assert gradient is not None
        total = total + OPS["sum"](gradient * gradient)
    second = pull_back([total], [tensor(np.ones(()))], leaves)
    return [value.numpy() for value in (*results, *first, *second) if value is not None]


@each_row("bias", [True, False])
@each_row("kind", GATES)
def test_a_layer_is_its_cells_one_after_another_at_every_order(kind: str, bias: bool) -> None:
    states = [wave(1, 2, 3)] * (2 if kind == "lstm" else 1)
    inputs = [wave(4, 2, 5), *weights(kind, 5, hidden=3, bias=bias), *states]
    leaves = [tensor(array, requires_grad=True) for array in inputs]
    y, *ends = OPS[kind](*leaves, bias=bias, initial=True)
    layer = with_gradients((y, *(OPS["squeeze"](end, axis=0) for end in ends)), leaves)
    again = [tensor(array, requires_grad=True) for array in inputs]
    squeezed = [OPS["squeeze"](state, axis=0) for state in again[-len(states) :]]
    cells = with_gradients(by_cells(kind, *again[: -len(states)], *squeezed), again)
    assert len(layer) == len(cells)
    for result, expected in zip(layer, cells, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", GATES)
def test_a_packed_row_is_a_shorter_row(kind: str) -> None:
    x, inputs = wave(4, 3, 2), weights(kind, 2, 4, hidden=2, directions=2)
    options = {"layers": 2, "bidirectional": True}
    y, *ends = OPS[kind](x, *inputs, np.array([2, 4, 0]), packed=True, **options)
    alone, *last = OPS[kind](x[:2, :1], *inputs, **options)
    np.testing.assert_allclose(y.numpy()[:2, :1], alone.numpy(), rtol=1e-12)
    assert not y.numpy()[2:, 0].any()
    for end, wanted in zip(ends, last, strict=True):
        np.testing.assert_allclose(end.numpy()[:, :1], wanted.numpy(), rtol=1e-12)
        assert not end.numpy()[:, 2].any()


@pytest.mark.parametrize("kind", GATES)
def test_batch_first_and_no_rows_are_other_layouts_of_the_same(kind: str) -> None:
    x, inputs = wave(4, 3, 2), weights(kind, 2, hidden=2)
    y, end, *_ = OPS[kind](x, *inputs)
    other, same, *_ = OPS[kind](x.transpose(1, 0, 2), *inputs, batch_first=True)
    np.testing.assert_array_equal(other.numpy(), y.numpy().transpose(1, 0, 2))
    np.testing.assert_array_equal(same.numpy(), end.numpy())
    row, last, *_ = OPS[kind](x[:, 1], *inputs, batch_first=True)
    np.testing.assert_allclose(row.numpy(), y.numpy()[:, 1], rtol=1e-12)
    np.testing.assert_allclose(last.numpy(), end.numpy()[:, 1], rtol=1e-12)


@pytest.mark.parametrize("kind", GATES)
def test_no_rows_give_no_states(kind: str) -> None:
    leaves = [tensor(array, requires_grad=True) for array in (np.zeros((3, 0, 2)), *weights(kind, 2, hidden=2))]
    results = OPS[kind](*leaves)
    assert [value.shape for value in results] == [(3, 0, 2)] + [(1, 0, 2)] * (len(results) - 1)
    gradients = pull_back(results, [tensor(np.ones(value.shape)) for value in results], leaves)
    assert all(gradient is not None and not gradient.numpy().any() for gradient in gradients)


def test_dropout_lies_between_layers_in_training_only() -> None:
    x, inputs, key = wave(3, 2, 2), weights("gru", 2, 8, hidden=8), np.array([3, 4])
    plain = OPS["gru"](x, *inputs, layers=2)[0].numpy()
    np.testing.assert_array_equal(OPS["gru"](x, *inputs, layers=2, dropout=0.5, training=False)[0].numpy(), plain)
    dropped = [OPS["gru"](x, *inputs, key, layers=2, dropout=0.5, training=True)[0].numpy() for _ in range(2)]
    np.testing.assert_array_equal(dropped[0], dropped[1])
    assert not np.allclose(dropped[0], plain)
    single = OPS["gru"](x, *inputs[:4], key, dropout=0.5, training=True)[0].numpy()
    np.testing.assert_array_equal(single, OPS["gru"](x, *inputs[:4])[0].numpy())


REFUSED = [
    ({"dropout": 1.5}, [], AttributeValueError, "at most 1"),
    ({"layers": 2}, [], ShapeError, "need 8 inputs after x"),
    ({"initial": True}, [np.ones((2, 3, 2))] * 2, ShapeError, r"must have the shape \[1, 3, 2\]"),
    ({"packed": True}, [np.ones(3)], DTypeError, "integer lengths"),
    ({"packed": True}, [np.array([1, 2, 5])], ShapeError, "length 5 is out of range for 4 steps"),
    ({"packed": True}, [np.array([1, 2])], ShapeError, "one number for each of 3 rows"),
]


@each_row(("attrs", "more", "error", "message"), REFUSED)
def test_what_does_not_fit_is_refused(attrs: Any, more: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        OPS["lstm"](wave(4, 3, 2), *weights("lstm", 2, hidden=2), *more, **attrs)


def test_a_weight_of_another_shape_is_refused_by_its_name() -> None:
    good = weights("gru", 2, 2, hidden=2)
    for place, message in ((0, "weight_ih_l0"), (1, "weight_hh_l0"), (5, "weight_hh_l1"), (3, "bias_l0")):
        bad = [wave(7, 2) if n == place else w for n, w in enumerate(good)]
        with pytest.raises(ShapeError, match=message):
            OPS["gru"](wave(4, 3, 2), *bad, layers=2)


@each_row(
    ("shapes", "message"),
    [
        (((2, 3), (2, 2), (4, 3), (3, 2)), r"w_hh \[3, 2\]"),
        (((2, 3), (2, 2), (3, 3), (2, 2)), r"w_ih \[3, 3\]"),
        (((2, 3), (3, 2), (2, 3), (2, 2)), r"a state \[3, 2\]"),
        (((2, 3), (2, 2), (2, 3), (2, 2), (3,)), r"b_ih \[3\]"),
        (((1, 2, 3), (2, 2), (2, 3), (2, 2)), r"the input \[1, 2, 3\]"),
    ],
)
def test_a_cell_refuses_what_does_not_fit(shapes: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        rnn_cell(*[np.ones(shape) for shape in shapes])
