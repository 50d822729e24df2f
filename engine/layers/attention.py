"""Attention of many heads, of an input to itself or to another input of the model."""

from __future__ import annotations

import math

from engine.errors import AttributeValueError, ShapeError
from engine.layers.scope import Scope
from engine.layers.table import layer
from engine.value import Shape, Value


def attend(
    scope: Scope,
    x: Value,
    memory: Value,
    *,
    heads: int,
    causal: bool = False,
    bias: bool = True,
    dropout: float = 0.0,
    mask: str | None = None,
    padding_mask: str | None = None,
) -> Value:
    """Declare the weights of torch.nn.MultiheadAttention and let x [rows, steps, width] attend to `memory`."""
    for what, value in (("an input", x), ("a memory", memory)):
        if value.ndim != 3:
            raise ShapeError(f"multi_head_attention needs {what} [rows, steps, width], got shape {list(value.shape)}")
    width = x.shape[-1]
    if heads < 1 or width % heads:
        raise AttributeValueError(f"multi_head_attention: heads {heads} must divide the width {width} of the input")
    weights = (
        scope.parameter("in_proj_weight", (3 * width, width), kind="xavier_uniform"),
        scope.parameter("out_proj.weight", (width, width), kind="kaiming_uniform", a=math.sqrt(5)),
    )
    inputs = [x, memory, memory, *weights]
    if bias:
        inputs += [scope.parameter(f"{name}bias", shape, kind="zeros") for name, shape in _biases(width)]
    elif mask or padding_mask:
        inputs += [_nothing(scope, x, f"{name}bias", shape) for name, shape in _biases(width)]
    if mask:
        inputs.append(scope.input(mask))
    if padding_mask:
        if not mask:
            inputs.append(_nothing(scope, x, "mask", (x.shape[1], memory.shape[1])))
        inputs.append(scope.input(padding_mask))
    return scope.apply("multi_head_attention", *inputs, heads=heads, causal=causal, dropout=dropout)


def _biases(width: int) -> tuple[tuple[str, Shape], ...]:
    return ("in_proj_", (3 * width,)), ("out_proj.", (width,))


def _nothing(scope: Scope, x: Value, name: str, shape: Shape) -> Value:
    """Stand for an input that adds nothing."""
    return scope.apply("zeros", name=name, shape=shape, dtype=x.dtype.name)


@layer
def multi_head_attention(
    scope: Scope,
    x: Value,
    *,
    heads: int,
    causal: bool = False,
    bias: bool = True,
    dropout: float = 0.0,
    memory: str | None = None,
    mask: str | None = None,
    padding_mask: str | None = None,
) -> Value:
    """Attention of `heads` heads over [rows, steps, width]; starts as torch.nn.MultiheadAttention.

    x attends to itself, or to the input of the model that `memory` names. `causal` lets a step see those up to it.
    `mask` and `padding_mask` name inputs [steps, columns] and [rows, columns] that leave out what is true, or are added
    if they are floating. In training a share `dropout` of the attention weights is dropped.
    """
    return attend(
        scope,
        x,
        x if memory is None else scope.input(memory),
        heads=heads,
        causal=causal,
        bias=bias,
        dropout=dropout,
        mask=mask,
        padding_mask=padding_mask,
    )
