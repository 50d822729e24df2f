"""Layers of a transformer (Vaswani et al. 2017): an encoder's and a decoder's, batch first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from engine.layers.attention import attend
from engine.layers.dense import linear
from engine.layers.normalization import layer_norm
from engine.layers.scope import Inner, Scope
from engine.layers.table import layer
from engine.value import Value

Between = Literal["relu", "gelu"]


@dataclass(frozen=True, slots=True)
class _Block:
    """What the parts of one transformer layer share."""

    scope: Scope
    heads: int
    width: int
    dropout: float
    activation: Between
    eps: float
    norm_first: bool
    bias: bool

    def add(self, x: Value, number: int, part: Callable[[Value], Value], *, last: bool = False) -> Value:
        """Add to x what the part `number` makes of it, normalised before that or after."""
        drop = f"dropout{number}"
        entering = self.norm(x, number) if self.norm_first else x
        made = self.scope.apply("dropout", part(entering), name=drop, p=self.dropout)
        total = self.scope.apply("add", x, made, name="" if last and self.norm_first else f"add{number}")
        if self.norm_first:
            return total
        return self.norm(total, number, last=last)

    def norm(self, x: Value, number: int, *, last: bool = False) -> Value:
        """Normalise the last axis, with the parameters of norm `number`."""
        inner = _Unnamed(self.scope, f"norm{number}") if last else Inner(self.scope, f"norm{number}")
        return layer_norm(inner, x, eps=self.eps, bias=self.bias)

    def attention(
        self,
        name: str,
        x: Value,
        memory: Value,
        *,
        causal: bool = False,
        mask: str | None = None,
        padding_mask: str | None = None,
    ) -> Value:
        """Let x attend to `memory`."""
        return attend(
            Inner(self.scope, name), x, memory, heads=self.heads, causal=causal, bias=self.bias, dropout=self.dropout,
            mask=mask, padding_mask=padding_mask,
        )  # fmt: skip

    def feed_forward(self, x: Value) -> Value:
        """Apply two linear layers, the inner one of `width` units."""
        inner = linear(Inner(self.scope, "linear1"), x, units=self.width, bias=self.bias, activation=self.activation)
        inner = self.scope.apply("dropout", inner, name="dropout", p=self.dropout)
        return linear(Inner(self.scope, "linear2"), inner, units=x.shape[-1], bias=self.bias)


class _Unnamed(Inner):
    """An inner place whose op is what flows on, and so goes by the name of the layer."""

    def apply(self, op: str, *inputs: Value, name: str = "", **attrs: Any) -> Value:
        return self._scope.apply(op, *inputs, name=name, **attrs)


@layer
def transformer_encoder_layer(
    scope: Scope,
    x: Value,
    *,
    heads: int,
    width: int = 2048,
    dropout: float = 0.1,
    activation: Between = "relu",
    eps: float = 1e-5,
    norm_first: bool = False,
    bias: bool = True,
    causal: bool = False,
    mask: str | None = None,
    padding_mask: str | None = None,
) -> Value:
    """Self-attention and two linear layers over [rows, steps, features], each added to its input and normalised.

    `width` is that of the inner linear layer; `norm_first` normalises before each part, not after it. `mask` and
    `padding_mask` name inputs of the model as in multi_head_attention. Parameters and starts as of
    torch.nn.TransformerEncoderLayer.
    """
    block = _Block(scope, heads, width, dropout, activation, eps, norm_first, bias)
    x = block.add(
        x, 1, lambda x: block.attention("self_attn", x, x, causal=causal, mask=mask, padding_mask=padding_mask)
    )
    return block.add(x, 2, block.feed_forward, last=True)


@layer
def transformer_decoder_layer(
    scope: Scope,
    x: Value,
    *,
    memory: str,
    heads: int,
    width: int = 2048,
    dropout: float = 0.1,
    activation: Between = "relu",
    eps: float = 1e-5,
    norm_first: bool = False,
    bias: bool = True,
    causal: bool = True,
    mask: str | None = None,
    padding_mask: str | None = None,
    memory_mask: str | None = None,
    memory_padding_mask: str | None = None,
) -> Value:
    """Self-attention, attention to `memory` and two linear layers, each added to its input and normalised.

    `memory` names the input of the model [rows, columns, features] that is attended to, as an encoder's outputs; the
    masks name inputs as in multi_head_attention. Parameters and starts as of torch.nn.TransformerDecoderLayer.
    """
    block = _Block(scope, heads, width, dropout, activation, eps, norm_first, bias)
    source = scope.input(memory)
    x = block.add(
        x, 1, lambda x: block.attention("self_attn", x, x, causal=causal, mask=mask, padding_mask=padding_mask)
    )
    x = block.add(
        x,
        2,
        lambda x: block.attention("multihead_attn", x, source, mask=memory_mask, padding_mask=memory_padding_mask),
    )
    return block.add(x, 3, block.feed_forward, last=True)
