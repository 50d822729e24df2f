"""Recurrent networks over sequences, as PyTorch's RNN, LSTM and GRU: layers, both directions, rows of unequal length.

Weights follow the input in PyTorch's order: for each layer, and in it for each direction, weight_ih, weight_hh and,
with `bias`, bias_ih and bias_hh.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.core.attributes import Length, Share
from engine.core.declarations import PRODUCT_COMPOSITION, Documentation
from engine.core.errors import ShapeError
from engine.core.modes import charge_table
from engine.core.registry import composite
from engine.core.samples import Argument, Sample, integers, key, normal, sample
from engine.core.shape_rules import require_integer
from engine.core.value import Value
from engine.ops.activation.activation import relu, sigmoid
from engine.ops.elementwise.comparison import eq, gt, where
from engine.ops.elementwise.elementwise import tanh
from engine.ops.linalg.matmul import linear, matrix_product
from engine.ops.random.random import dropout, fold_in
from engine.ops.recurrent.gru_layer import gru_steps
from engine.ops.recurrent.lstm_layer import lstm_steps
from engine.ops.recurrent.rnn_layer import Nonlinearity, rnn_steps
from engine.ops.recurrent.steps import at
from engine.ops.shape.creation import full, zeros
from engine.ops.shape.shape import concat, permute, reshape, slice, split, squeeze, stack, unsqueeze

Weights = tuple[Value, Value, Value | None, Value | None, Value | None]
"""weight_ih, weight_hh, bias_ih, bias_hh and weight_hr of one direction of one layer."""
Layer = Callable[[Value, Weights, tuple[Value, ...], Value, bool], tuple[Value, ...]]
"""From an input [steps, rows, in], weights, initial states, lengths and "in reverse" to the states of one layer."""


@dataclass(frozen=True, slots=True)
class Form:
    """The attributes of a recurrent network."""

    op: str
    gates: int
    states: int
    layers: int
    directions: int
    bias: bool
    batch_first: bool
    initial: bool
    packed: bool
    projected: bool = False

    @property
    def weights(self) -> int:
        """The number of weights for each direction of each layer."""
        return (4 if self.bias else 2) + self.projected

    @property
    def inputs(self) -> int:
        """The number of inputs after x, without a random key."""
        weights = self.layers * self.directions * self.weights
        return weights + (self.states if self.initial else 0) + (1 if self.packed else 0)


@dataclass(frozen=True, slots=True)
class Parts:
    """The inputs of a recurrent network: `weights` by layer and direction, `states` stacked."""

    weights: list[Weights]
    states: tuple[Value, ...]
    lengths: Value | None
    key: Value | None


def _take_apart(form: Form, rest: tuple[Value, ...], rows: int) -> Parts:
    if len(rest) not in (form.inputs, form.inputs + 1):
        raise ShapeError(
            f"{form.op}: layers {form.layers}, directions {form.directions}, bias {form.bias}, initial "
            f"{form.initial} and packed {form.packed} need {form.inputs} inputs after x (and a random key for "
            f"dropout, if you like), got {len(rest)}"
        )
    random_key = rest[-1] if len(rest) > form.inputs else None
    each = form.weights
    last = form.layers * form.directions * each
    weights: list[Weights] = [
        (
            rest[k],
            rest[k + 1],
            rest[k + 2] if form.bias else None,
            rest[k + 3] if form.bias else None,
            rest[k + each - 1] if form.projected else None,
        )
        for k in range(0, last, each)
    ]
    lengths = rest[form.inputs - 1] if form.packed else None
    if lengths is not None:
        require_integer(form.op, "lengths", lengths)
    hidden, width = _hidden(form, weights)
    shapes = [(form.layers * form.directions, rows, size) for size in (width, hidden)[: form.states]]
    if form.initial:
        states = rest[last : last + form.states]
        for state, wanted in zip(states, shapes, strict=True):
            if state.shape not in (wanted, (wanted[0], wanted[2])):
                raise ShapeError(f"{form.op}: an initial state {list(state.shape)} must have the shape {list(wanted)}")
        states = tuple(reshape(state, shape=wanted) for state, wanted in zip(states, shapes, strict=True))
    else:
        states = tuple(zeros(shape=wanted, dtype=rest[0].dtype) for wanted in shapes)
    return Parts(weights, states, lengths, random_key)


def _hidden(form: Form, weights: list[Weights]) -> tuple[int, int]:
    """Check the shapes of the weights and return the numbers of hidden units and of outputs of a direction."""
    w_hh, last = weights[0][1], weights[0][4]
    size = w_hh.shape[-1] if w_hh.ndim == 2 else -1
    width = size
    if last is not None and last.ndim == 2:
        width, size = last.shape
    for number, (w_ih, w_hh, b_ih, b_hh, w_hr) in enumerate(weights):
        layer, reverse = divmod(number, form.directions)
        name = f"_l{layer}{'_reverse' * reverse}"
        if w_hr is not None and w_hr.shape != (width, size):
            raise ShapeError(f"{form.op}: weight_hr{name} {list(w_hr.shape)} must have the shape [proj, hidden]")
        if w_hh.shape != (form.gates * size, width):
            raise ShapeError(
                f"{form.op}: weight_hh{name} {list(w_hh.shape)} must have the shape [{form.gates} * hidden, "
                f"{'proj' if form.projected else 'hidden'}]"
                + (f" = [{form.gates * size}, {width}]" if size > 0 else "")
            )
        if w_ih.ndim != 2 or w_ih.shape[0] != form.gates * size:
            raise ShapeError(
                f"{form.op}: weight_ih{name} {list(w_ih.shape)} must have the shape [{form.gates * size}, in]"
            )
        if layer and w_ih.shape[1] != form.directions * width:
            raise ShapeError(
                f"{form.op}: weight_ih{name} {list(w_ih.shape)} must take the {form.directions * width} outputs of "
                "the layer before"
            )
        for bias in (b_ih, b_hh):
            if bias is not None and bias.shape != (form.gates * size,):
                raise ShapeError(
                    f"{form.op}: a bias{name} {list(bias.shape)} must have the shape [{form.gates * size}]"
                )
    return size, width


def _check_call(form: Form, x: Value) -> None:
    if x.ndim not in (2, 3):
        raise ShapeError(f"{form.op}: the input {list(x.shape)} must have the shape [steps, rows, in] or [steps, in]")


def _network(
    form: Form, layer: Layer, x: Value, rest: tuple[Value, ...], p: float, training: bool | None
) -> tuple[Value, ...]:
    """Run all layers; returns the outputs and the last state of every kind, stacked over layers and directions."""
    _check_call(form, x)
    alone = x.ndim == 2
    if alone:
        x = unsqueeze(x, axis=1)
    elif form.batch_first:
        x = permute(x, axes=(1, 0, 2))
    count, rows = x.shape[:2]
    parts = _take_apart(form, rest, rows)
    lengths = full(shape=(rows,), value=count) if parts.lengths is None else parts.lengths
    lasts: list[tuple[Value, ...]] = []
    for number in range(form.layers):
        if number and p and training:
            mask_key = None if parts.key is None else fold_in(parts.key, number)
            x = dropout(x, mask_key, p=p, training=True)
        outputs = []
        for direction in range(form.directions):
            place = number * form.directions + direction
            initial = tuple(at(state, place) for state in parts.states)
            states = layer(x, parts.weights[place], initial, lengths, direction == 1)
            outputs.append(states[0])
            lasts.append(tuple(at(state, 0 if direction else count - 1) for state in states))
        x = outputs[0] if form.directions == 1 else concat(*outputs, axis=2)
    if parts.lengths is not None:
        charge_table(form.op, count)
        running = gt(reshape(lengths, shape=(1, rows, 1)), np.arange(count).reshape(count, 1, 1))
        x = where(running, x, 0.0)
    ends = tuple(stack(*states) for states in zip(*lasts, strict=True))
    if alone:
        return (squeeze(x, axis=1), *(squeeze(end, axis=1) for end in ends))
    return (permute(x, axes=(1, 0, 2)) if form.batch_first else x, *ends)


def _added(a: Value | None, b: Value | None) -> Value | None:
    return a if b is None else b if a is None else a + b


def _arguments(gates: int, into: tuple[int, ...], *, directions: int = 1, bias: bool = True) -> list[Argument]:
    """Describe sample weights for two hidden units, layer by layer; `into` holds the number of inputs of each."""
    made = []
    for size in into:
        for _ in range(directions):
            made += [normal(gates * 2, size), normal(gates * 2, 2)] + [normal(gates * 2)] * (2 if bias else 0)
    return made


def _samples(gates: int, states: int) -> list[Sample]:
    both = _arguments(gates, (2,), directions=2)
    initial = [normal(2, 2, 2)] * states
    return [
        sample(normal(2, 2, 3), *_arguments(gates, (3,))),
        sample(normal(2, 2, 2), *both, integers(1, 3, 2), bidirectional=True, packed=True, batch_first=True),
        sample(normal(2, 2), *_arguments(gates, (2,), bias=False), bias=False),
        sample(normal(1, 2, 2), *_arguments(gates, (2, 2)), *initial, key(), layers=2, initial=True, dropout=0.3,
               training=True),
    ]  # fmt: skip


@composite(
    numerics=PRODUCT_COMPOSITION,
    samples=[*_samples(1, 1), sample(normal(2, 2, 2), *_arguments(1, (2,)), nonlinearity="relu")],
)
def rnn(
    x: Value,
    *inputs: Value,
    nonlinearity: Nonlinearity = "tanh",
    layers: Length = 1,
    bidirectional: bool = False,
    bias: bool = True,
    batch_first: bool = False,
    initial: bool = False,
    packed: bool = False,
    dropout: Share = 0.0,
    training: bool | None = None,
) -> tuple[Value, ...]:
    """Plain recurrent layers as PyTorch's RNN: the outputs [steps, rows, directions * hidden] and the last states h_n.

    After x [steps, rows, in] ([rows, steps, in] with `batch_first`; [steps, in] without rows) follow the weights in
    PyTorch's order: for each layer and direction weight_ih, weight_hh and, with `bias`, bias_ih and bias_hh. Then, with
    `initial`, h0 [layers * directions, rows, hidden] (zeros otherwise); with `packed`, the integer lengths [rows],
    beyond which the state of a row is unchanged and its outputs are 0; last, optionally, a random key for `dropout`.
    """

    def layer(
        x: Value, weights: Weights, states: tuple[Value, ...], lengths: Value, reverse: bool
    ) -> tuple[Value, ...]:
        w_ih, w_hh, b_ih, b_hh, _ = weights
        product = linear(x, w_ih, _added(b_ih, b_hh))
        return (rnn_steps(product, w_hh, *states, lengths, nonlinearity=nonlinearity, reverse=reverse),)

    form = Form("rnn", 1, 1, layers, 1 + bidirectional, bias, batch_first, initial, packed)
    return _network(form, layer, x, inputs, dropout, training)


def _projecting(
    x: Value, weights: Weights, states: tuple[Value, ...], lengths: Value, reverse: bool, initial: bool
) -> tuple[Value, Value]:
    """Run one direction of an LSTM whose outputs are w_hr h, which also replace h in the products.

    As (w_hr h) w_hh^T is h (w_hh w_hr)^T, the steps are those of a plain LSTM; an initial output, which need not be a
    product with w_hr, is added to the input of the first step.
    """
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    assert w_hr is not None
    first, c0 = states
    product = linear(x, w_ih, _added(b_ih, b_hh))
    counts = reshape(lengths, shape=(1, lengths.size, 1))
    if initial:
        start = counts - 1 if reverse else counts * 0
        charge_table("lstm", x.shape[0])
        places = np.arange(x.shape[0]).reshape(-1, 1, 1)
        product = product + where(eq(start, places), unsqueeze(linear(first, w_hh), axis=0), 0.0)
    together = matrix_product(w_hh, w_hr)
    h, c, _ = lstm_steps(product, together, zeros(shape=c0.shape, dtype=c0.dtype), c0, lengths, reverse=reverse)
    projected = linear(h, w_hr)
    if initial:  # a row without steps keeps its initial state
        projected = where(gt(counts, 0), projected, unsqueeze(first, axis=0))
    return projected, c


@composite(
    numerics=PRODUCT_COMPOSITION,
    samples=[
        *_samples(4, 2),
        sample(
            normal(2, 2, 2),
            *[normal(12, 2), normal(12, 2), normal(2, 3)] * 2,
            normal(2, 2, 2),
            normal(2, 2, 3),
            integers(1, 3, 2),
            bias=False,
            bidirectional=True,
            projected=True,
            initial=True,
            packed=True,
        ),
    ],
)
def lstm(
    x: Value,
    *inputs: Value,
    layers: Length = 1,
    bidirectional: bool = False,
    bias: bool = True,
    batch_first: bool = False,
    initial: bool = False,
    packed: bool = False,
    projected: bool = False,
    dropout: Share = 0.0,
    training: bool | None = None,
) -> tuple[Value, ...]:
    """Long short-term memory as PyTorch's LSTM: outputs [steps, rows, directions * hidden], last states h_n and c_n.

    Inputs and attributes as of rnn, with weights [4 * hidden, ...] in the order i f g o, and with `initial` both h0 and
    c0 [layers * directions, rows, hidden]. `projected` (PyTorch's proj_size; Sak et al. 2014) adds weight_hr
    [proj, hidden] after the other weights of each: outputs, h0 and h_n then have proj units, and weight_hh is
    [4 * hidden, proj].
    """

    def layer(
        x: Value, weights: Weights, states: tuple[Value, ...], lengths: Value, reverse: bool
    ) -> tuple[Value, ...]:
        if projected:
            return _projecting(x, weights, states, lengths, reverse, initial)
        w_ih, w_hh, b_ih, b_hh, _ = weights
        product = linear(x, w_ih, _added(b_ih, b_hh))
        return lstm_steps(product, w_hh, *states, lengths, reverse=reverse)[:2]

    form = Form("lstm", 4, 2, layers, 1 + bidirectional, bias, batch_first, initial, packed, projected)
    return _network(form, layer, x, inputs, dropout, training)


@composite(numerics=PRODUCT_COMPOSITION, samples=_samples(3, 1))
def gru(
    x: Value,
    *inputs: Value,
    layers: Length = 1,
    bidirectional: bool = False,
    bias: bool = True,
    batch_first: bool = False,
    initial: bool = False,
    packed: bool = False,
    dropout: Share = 0.0,
    training: bool | None = None,
) -> tuple[Value, ...]:
    """Gated recurrent units as PyTorch's GRU: outputs [steps, rows, directions * hidden] and the last states h_n.

    Inputs and attributes as of rnn, with weights [3 * hidden, ...] in the order r z n; the reset gate multiplies
    the product of the state (ONNX: linear_before_reset = 1).
    """

    def layer(
        x: Value, weights: Weights, states: tuple[Value, ...], lengths: Value, reverse: bool
    ) -> tuple[Value, ...]:
        w_ih, w_hh, b_ih, b_hh, _ = weights
        size = w_hh.shape[1]
        b_n = zeros(shape=(size,), dtype=x.dtype)
        if b_ih is not None and b_hh is not None:  # only the part of n lies inside the product with r
            b_ih = b_ih + concat(slice(b_hh, stop=2 * size), b_n)
            b_n = slice(b_hh, start=2 * size)
        product = linear(x, w_ih, b_ih)
        return (gru_steps(product, w_hh, b_n, *states, lengths, reverse=reverse)[0],)

    form = Form("gru", 3, 1, layers, 1 + bidirectional, bias, batch_first, initial, packed)
    return _network(form, layer, x, inputs, dropout, training)


def _products(
    op: str,
    gates: int,
    x: Value,
    states: tuple[Value, ...],
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None,
    b_hh: Value | None,
) -> tuple[Value, Value]:
    """Check the shapes and return x w_ih^T + b_ih and h w_hh^T + b_hh."""
    if w_hh.ndim != 2 or w_hh.shape[0] != gates * w_hh.shape[1]:
        raise ShapeError(f"{op}: w_hh {list(w_hh.shape)} must have the shape [{gates} * hidden, hidden]")
    size = w_hh.shape[1]
    if w_ih.ndim != 2 or w_ih.shape[0] != gates * size:
        raise ShapeError(f"{op}: w_ih {list(w_ih.shape)} must have the shape [{gates * size}, in]")
    for name, bias in (("b_ih", b_ih), ("b_hh", b_hh)):
        if bias is not None and bias.shape != (gates * size,):
            raise ShapeError(f"{op}: {name} {list(bias.shape)} must have the shape [{gates * size}]")
    if x.ndim not in (1, 2):
        raise ShapeError(f"{op}: the input {list(x.shape)} must have the shape [rows, in] or [in]")
    for state in states:
        if state.shape != (*x.shape[:-1], size):
            raise ShapeError(f"{op}: a state {list(state.shape)} must have the shape {[*x.shape[:-1], size]}")
    return linear(x, w_ih, b_ih), linear(states[0], w_hh, b_hh)


@composite(
    numerics=PRODUCT_COMPOSITION,
    samples=[
        sample((2, 3), (2, 2), (2, 3), (2, 2), (2,), (2,)),
        sample((3,), (2,), (2, 3), (2, 2), nonlinearity="relu"),
    ],
)
def rnn_cell(
    x: Value,
    h: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
    *,
    nonlinearity: Nonlinearity = "tanh",
) -> Value:
    """The next state act(x w_ih^T + b_ih + h w_hh^T + b_hh) of rows x [rows, in], h [rows, hidden], as in PyTorch."""
    of_input, of_state = _products("rnn_cell", 1, x, (h,), w_ih, w_hh, b_ih, b_hh)
    return (tanh if nonlinearity == "tanh" else relu)(of_input + of_state)


@composite(
    numerics=PRODUCT_COMPOSITION,
    documentation=Documentation(outputs=("h", "c")),
    samples=[sample((2, 3), (2, 2), (2, 2), (8, 3), (8, 2), (8,), (8,)), sample((3,), (1,), (1,), (4, 3), (4, 1))],
)
def lstm_cell(
    x: Value, h: Value, c: Value, w_ih: Value, w_hh: Value, b_ih: Value | None = None, b_hh: Value | None = None
) -> tuple[Value, Value]:
    """The next states h and c of an LSTM, as in PyTorch; the gates lie in the weights in the order i f g o.

    With p = x w_ih^T + b_ih + h w_hh^T + b_hh: i, f, o = sigmoid(p), g = tanh(p), c' = f c + i g, h' = o tanh(c').
    """
    of_input, of_state = _products("lstm_cell", 4, x, (h, c), w_ih, w_hh, b_ih, b_hh)
    i, f, g, o = split(of_input + of_state, sizes=(h.shape[-1],) * 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


@composite(
    numerics=PRODUCT_COMPOSITION,
    samples=[sample((2, 3), (2, 2), (6, 3), (6, 2), (6,), (6,)), sample((3,), (1,), (3, 3), (3, 1))],
)
def gru_cell(
    x: Value, h: Value, w_ih: Value, w_hh: Value, b_ih: Value | None = None, b_hh: Value | None = None
) -> Value:
    """The next state of a GRU, as in PyTorch (the reset gate after the product); gates in the order r z n.

    With a = x w_ih^T + b_ih and p = h w_hh^T + b_hh: r, z = sigmoid(a + p), n = tanh(a + r p), h' = (1 - z) n + z h.
    """
    of_input, of_state = _products("gru_cell", 3, x, (h,), w_ih, w_hh, b_ih, b_hh)
    size = h.shape[-1]
    r, z, n = split(of_input, sizes=(size,) * 3, axis=-1)
    hr, hz, hn = split(of_state, sizes=(size,) * 3, axis=-1)
    n = tanh(n + sigmoid(r + hr) * hn)
    return n + sigmoid(z + hz) * (h - n)
