"""Recurrent layers over [batch, steps, width]: plain, LSTM and GRU."""

from __future__ import annotations

import math
from typing import Any, Literal

from engine.core.attributes import Count, Length, Share
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.value import Shape, Value
from engine.nn.layers.table import Layers, Scope, layer

Result = Literal["sequence", "last"]


def _weights(
    scope: Scope, x: Value, gates: int, units: int, proj_size: int, layers: int, bidirectional: bool, bias: bool
) -> list[Value]:
    """Declare the weights layer by layer in PyTorch's order, all uniform within 1 / sqrt(units)."""
    bound, outputs = 1 / math.sqrt(units), proj_size or units
    made = []
    for number in range(layers):
        width = outputs * (1 + bidirectional) if number else x.shape[-1]
        shapes: dict[str, Shape] = {"weight_ih": (gates * units, width), "weight_hh": (gates * units, outputs)}
        if bias:
            shapes |= {"bias_ih": (gates * units,), "bias_hh": (gates * units,)}
        if proj_size:
            shapes["weight_hr"] = (proj_size, units)
        for ending in ("", "_reverse")[: 1 + bidirectional]:
            made += [
                scope.parameter(f"{name}_l{number}{ending}", shape, kind="uniform", low=-bound, high=bound)
                for name, shape in shapes.items()
            ]
    return made


def _last(scope: Scope, y: Value, units: int, bidirectional: bool) -> Value:
    """Return the concatenated final states of the directions."""
    last = scope.apply("slice", y, name="end", axis=1, start=-1)
    if bidirectional:
        first = scope.apply("slice", y, name="start", axis=1, stop=1)
        ends = (
            scope.apply("slice", last, name="forward", axis=2, stop=units),
            scope.apply("slice", first, name="backward", axis=2, start=units),
        )
        last = scope.apply("concat", *ends, name="ends", axis=2)
    return scope.apply("squeeze", last, axis=1)


def _last_valid(scope: Scope, states: Value, bidirectional: bool) -> Value:
    """Return the final states [layers * directions, rows, units] of the top layer, concatenated."""
    top = scope.apply("slice", states, name="top", start=-1 - bidirectional)
    by_row = scope.apply("permute", top, name="by_row", axes=(1, 0, 2))
    return scope.apply("flatten", by_row, start=1)


def _recurrent(
    scope: Scope,
    x: Value,
    kind: str,
    gates: int,
    *,
    units: int,
    layers: int,
    bidirectional: bool,
    bias: bool,
    dropout: float,
    result: Result,
    lengths: str | None,
    proj_size: int = 0,
    **attrs: Any,
) -> Value:
    if x.ndim != 3:
        raise ShapeError(f"{kind} needs an input [batch, steps, width], got shape {list(x.shape)}")
    if proj_size >= units:
        raise AttributeValueError(f"{kind}: proj_size {proj_size} must be less than units {units}, or 0 for none")
    if result == "last" and not x.shape[1]:
        raise ShapeError(f"{kind}: the last state needs at least one step, got shape {list(x.shape)}")
    y, *states = scope.apply_all(
        kind,
        x,
        *_weights(scope, x, gates, units, proj_size, layers, bidirectional, bias),
        *(() if lengths is None else (scope.input(lengths),)),
        name="sequence" if result == "last" else "",
        layers=layers,
        bidirectional=bidirectional,
        bias=bias,
        batch_first=True,
        packed=lengths is not None,
        dropout=dropout,
        **({"projected": True} if proj_size else {}),
        **attrs,
    )
    if result == "sequence":
        return y
    if lengths is not None:
        return _last_valid(scope, states[0], bidirectional)
    return _last(scope, y, proj_size or units, bidirectional)


@layer
def rnn(
    scope: Scope,
    x: Value,
    *,
    units: Length,
    layers: Layers = 1,
    bidirectional: bool = False,
    bias: bool = True,
    dropout: Share = 0.0,
    nonlinearity: Literal["tanh", "relu"] = "tanh",
    result: Result = "sequence",
    lengths: str | None = None,
) -> Value:
    """Elman recurrent layers over [batch, steps, width]: all outputs [batch, steps, directions * units], or the last.

    The last ones are the final states of each direction of the top layer. In training a share `dropout` of the values
    between layers is dropped. `lengths` names an input of integers [batch], the number of steps of each row: beyond
    them outputs are 0, and the last states are those of the last valid step, in both directions, as with packed
    sequences. Parameters and initialisers are those of torch.nn.RNN.
    """
    return _recurrent(
        scope, x, "rnn", 1, units=units, layers=layers, bidirectional=bidirectional, bias=bias, dropout=dropout,
        result=result, lengths=lengths, nonlinearity=nonlinearity,
    )  # fmt: skip


@layer
def lstm(
    scope: Scope,
    x: Value,
    *,
    units: Length,
    layers: Layers = 1,
    bidirectional: bool = False,
    bias: bool = True,
    dropout: Share = 0.0,
    result: Result = "sequence",
    lengths: str | None = None,
    proj_size: Count = 0,
) -> Value:
    """Long short-term memory over [batch, steps, width] (Hochreiter & Schmidhuber 1997); see rnn.

    With `proj_size` outputs are projected to that many units (Sak et al. 2014). Parameters and initialisers are those
    of torch.nn.LSTM.
    """
    return _recurrent(
        scope, x, "lstm", 4, units=units, layers=layers, bidirectional=bidirectional, bias=bias, dropout=dropout,
        result=result, lengths=lengths, proj_size=proj_size,
    )  # fmt: skip


@layer
def gru(
    scope: Scope,
    x: Value,
    *,
    units: Length,
    layers: Layers = 1,
    bidirectional: bool = False,
    bias: bool = True,
    dropout: Share = 0.0,
    result: Result = "sequence",
    lengths: str | None = None,
) -> Value:
    """Gated recurrent units over [batch, steps, width] (Cho et al. 2014); see rnn.

    Parameters and initialisers are those of torch.nn.GRU.
    """
    return _recurrent(
        scope, x, "gru", 3, units=units, layers=layers, bidirectional=bidirectional, bias=bias, dropout=dropout,
        result=result, lengths=lengths,
    )  # fmt: skip
