"""One step of a recurrent layer, with PyTorch's weights: w_ih [gates * hidden, in], w_hh [gates * hidden, hidden]."""

from __future__ import annotations

from engine.core.declarations import Documentation, Numerics
from engine.core.errors import ShapeError
from engine.core.registry import composite
from engine.core.samples import sample
from engine.core.value import Value
from engine.ops.activation.activation import relu, sigmoid
from engine.ops.elementwise.elementwise import tanh
from engine.ops.linalg.matmul import linear
from engine.ops.recurrent.rnn_layer import Nonlinearity
from engine.ops.shape.shape import split


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
    numerics=Numerics(compute_float32=True, autocast="half"),
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
    numerics=Numerics(compute_float32=True, autocast="half"),
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
    numerics=Numerics(compute_float32=True, autocast="half"),
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
