"""Multi-head attention of an input to itself or to another input of the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from engine.core.attributes import Length, Share
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.value import Shape, Value
from engine.nn.layers.table import Scope, layer

NeedWeights = Literal["none", "mean", "heads"]


@dataclass(frozen=True, slots=True)
class Attention:
    """Options of torch.nn.MultiheadAttention; the masks are names of inputs."""

    heads: int
    causal: bool = False
    bias: bool = True
    dropout: float = 0.0
    mask: str | None = None
    padding_mask: str | None = None
    bias_kv: bool = False
    zero_attn: bool = False
    weights: NeedWeights = "none"

    def attend(self, scope: Scope, x: Value, memory: Value, values: Value | None = None) -> Value:
        """Declare the weights; attend from x [rows, steps, width] to keys from `memory` and values from `values`."""
        values = memory if values is None else values
        for what, value in (("an input", x), ("a memory", memory), ("values", values)):
            if value.ndim != 3:
                raise ShapeError(
                    f"multi_head_attention needs {what} [rows, steps, width], got shape {list(value.shape)}"
                )
        width = x.shape[-1]
        if self.heads < 1 or width % self.heads:
            raise AttributeValueError(
                f"multi_head_attention: heads {self.heads} must divide the width {width} of the input"
            )
        same = memory.shape[-1] == values.shape[-1] == width
        if same and values is memory and not (self.bias_kv or self.zero_attn or self.weights != "none"):
            return self._plain(scope, x, memory)
        return self._general(scope, x, memory, values, apart=not same)

    def _plain(self, scope: Scope, x: Value, memory: Value) -> Value:
        width = x.shape[-1]
        inputs = [x, memory, memory, *_projections(scope, (width, width, width), apart=False)]
        if self.bias:
            inputs += _biases(scope, width)
        elif self.mask or self.padding_mask:
            inputs += [_nothing(scope, x, f"{name}bias", shape) for name, shape in _bias_shapes(width)]
        if self.mask:
            inputs.append(scope.input(self.mask))
        if self.padding_mask:
            if not self.mask:
                inputs.append(_nothing(scope, x, "mask", (x.shape[1], memory.shape[1])))
            inputs.append(scope.input(self.padding_mask))
        return scope.apply("multi_head_attention", *inputs, heads=self.heads, causal=self.causal, dropout=self.dropout)

    def _general(self, scope: Scope, x: Value, memory: Value, values: Value, *, apart: bool) -> Value:
        width = x.shape[-1]
        inputs = [x, memory, values]
        inputs += _projections(scope, (width, memory.shape[-1], values.shape[-1]), apart=apart)
        inputs += _biases(scope, width) if self.bias else []
        if self.bias_kv:
            inputs += [scope.parameter(f"bias_{name}", (1, 1, width), kind="xavier_normal") for name in "kv"]
        inputs += [scope.input(name) for name in (self.mask, self.padding_mask) if name]
        return scope.apply(
            "general_attention",
            *inputs,
            heads=self.heads,
            apart=apart,
            bias=self.bias,
            bias_kv=self.bias_kv,
            zero_attn=self.zero_attn,
            masked=bool(self.mask),
            padded=bool(self.padding_mask),
            causal=self.causal,
            weights=self.weights,
            dropout=self.dropout,
        )


def _projections(scope: Scope, widths: tuple[int, int, int], *, apart: bool) -> list[Value]:
    """Declare the weights before and after the attention."""
    width = widths[0]
    if apart:
        into = [
            scope.parameter(f"{name}_proj_weight", (width, size), kind="xavier_uniform")
            for name, size in zip("qkv", widths, strict=True)
        ]
    else:
        into = [scope.parameter("in_proj_weight", (3 * width, width), kind="xavier_uniform")]
    return [*into, scope.parameter("out_proj.weight", (width, width), kind="kaiming_uniform", a=math.sqrt(5))]


def _biases(scope: Scope, width: int) -> list[Value]:
    return [scope.parameter(f"{name}bias", shape, kind="zeros") for name, shape in _bias_shapes(width)]


def _bias_shapes(width: int) -> tuple[tuple[str, Shape], ...]:
    return ("in_proj_", (3 * width,)), ("out_proj.", (width,))


def _nothing(scope: Scope, x: Value, name: str, shape: Shape) -> Value:
    """Return a neutral value for an input that is not used."""
    return scope.apply("zeros", name=name, shape=shape, dtype=x.dtype.name)


@layer
def multi_head_attention(
    scope: Scope,
    x: Value,
    *,
    heads: Length,
    causal: bool = False,
    bias: bool = True,
    dropout: Share = 0.0,
    memory: str | None = None,
    values: str | None = None,
    mask: str | None = None,
    padding_mask: str | None = None,
    bias_kv: bool = False,
    zero_attn: bool = False,
    weights: NeedWeights = "none",
) -> Value:
    """Multi-head attention over [rows, steps, width] (Vaswani et al. 2017), initialised as torch.nn.MultiheadAttention.

    x attends to itself, or to the input of the model named by `memory`; `values` names the input of the values, if it
    is another. Both may have other widths (kdim and vdim). With `causal` a step attends to earlier steps and itself
    only. `mask` and `padding_mask` name inputs [steps, columns] and [rows, columns] that mask out what is true, or are
    added if they are floating. `bias_kv` adds a learnable key and value, `zero_attn` a key and value of zeros. In
    training a share `dropout` of the attention weights is dropped. With `weights` these are the second output, name:1:
    the "mean" over the heads [rows, steps, columns], or [rows, heads, steps, columns].
    """
    attention = Attention(heads, causal, bias, dropout, mask, padding_mask, bias_kv, zero_attn, weights)
    attended = x if memory is None else scope.input(memory)
    return attention.attend(scope, x, attended, None if values is None else scope.input(values))
