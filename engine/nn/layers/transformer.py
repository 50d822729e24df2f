"""Layers of a transformer (Vaswani et al. 2017), batch first: encoder layer and decoder layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from engine.core.attributes import Length, NonNegative, Share
from engine.core.value import Value
from engine.nn.layers.attention import Attention
from engine.nn.layers.dense import linear
from engine.nn.layers.normalization import layer_norm
from engine.nn.layers.table import Inner, Scope, layer

Between = Literal["relu", "gelu"]


@dataclass(frozen=True, slots=True)
class Block:
    """Options of one transformer layer."""

    scope: Scope
    heads: int
    width: int
    dropout: float
    activation: Between
    eps: float
    norm_first: bool
    bias: bool

    def add(self, x: Value, number: int, part: Callable[[Value], Value], *, last: bool = False) -> Value:
        """Return x plus the output of the part `number`, normalised before the part or after the sum."""
        drop = f"dropout{number}"
        entering = self.norm(x, number) if self.norm_first else x
        made = self.scope.apply("dropout", part(entering), name=drop, p=self.dropout)
        total = self.scope.apply("add", x, made, name="" if last and self.norm_first else f"add{number}")
        if self.norm_first:
            return total
        return self.norm(total, number, last=last)

    def norm(self, x: Value, number: int, *, last: bool = False) -> Value:
        """Normalise the last axis, with the parameters of norm `number`."""
        inner = Unnamed(self.scope, f"norm{number}") if last else Inner(self.scope, f"norm{number}")
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
        """Attend from x to `memory`."""
        attention = Attention(self.heads, causal, self.bias, self.dropout, mask, padding_mask)
        return attention.attend(Inner(self.scope, name), x, memory)

    def feed_forward(self, x: Value) -> Value:
        """Apply two linear layers, the inner one of `width` units."""
        inner = linear(Inner(self.scope, "linear1"), x, units=self.width, bias=self.bias, activation=self.activation)
        inner = self.scope.apply("dropout", inner, name="dropout", p=self.dropout)
        return linear(Inner(self.scope, "linear2"), inner, units=x.shape[-1], bias=self.bias)


class Unnamed(Inner):
    """A nested scope whose op computes the output of the layer and takes the layer's name."""

    def apply_all(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> tuple[Value, ...]:
        return self._scope.apply_all(op, *inputs, name=name, **attrs)


@dataclass(frozen=True, slots=True)
class Masks:
    """Masks of one attention: names of inputs, and whether steps attend to earlier steps and themselves only."""

    causal: bool = False
    mask: str | None = None
    padding_mask: str | None = None


def encode(block: Block, x: Value, masks: Masks) -> Value:
    """Build one layer of an encoder."""

    def itself(x: Value) -> Value:
        return block.attention("self_attn", x, x, causal=masks.causal, mask=masks.mask, padding_mask=masks.padding_mask)

    return block.add(block.add(x, 1, itself), 2, block.feed_forward, last=True)


def decode(block: Block, x: Value, memory: Value, masks: Masks, of_memory: Masks) -> Value:
    """Build one layer of a decoder."""

    def itself(x: Value) -> Value:
        return block.attention("self_attn", x, x, causal=masks.causal, mask=masks.mask, padding_mask=masks.padding_mask)

    def other(x: Value) -> Value:
        return block.attention(
            "multihead_attn", x, memory, causal=of_memory.causal, mask=of_memory.mask,
            padding_mask=of_memory.padding_mask,
        )  # fmt: skip

    return block.add(block.add(block.add(x, 1, itself), 2, other), 3, block.feed_forward, last=True)


@layer
def transformer_encoder_layer(
    scope: Scope,
    x: Value,
    *,
    heads: Length,
    width: Length = 2048,
    dropout: Share = 0.1,
    activation: Between = "relu",
    eps: NonNegative = 1e-5,
    norm_first: bool = False,
    bias: bool = True,
    causal: bool = False,
    mask: str | None = None,
    padding_mask: str | None = None,
) -> Value:
    """Self-attention and two linear layers over [rows, steps, features], each added to its input and normalised.

    `width` is that of the inner linear layer; `norm_first` normalises before each part, not after it. `mask` and
    `padding_mask` name inputs of the model as in multi_head_attention. Parameters and
    initialisers are those of torch.nn.TransformerEncoderLayer.
    """
    block = Block(scope, heads, width, dropout, activation, eps, norm_first, bias)
    return encode(block, x, Masks(causal, mask, padding_mask))


@layer
def transformer_decoder_layer(
    scope: Scope,
    x: Value,
    *,
    memory: str,
    heads: Length,
    width: Length = 2048,
    dropout: Share = 0.1,
    activation: Between = "relu",
    eps: NonNegative = 1e-5,
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
    masks name inputs as in multi_head_attention. Parameters and initialisers are those of
    torch.nn.TransformerDecoderLayer.
    """
    block = Block(scope, heads, width, dropout, activation, eps, norm_first, bias)
    of_memory = Masks(False, memory_mask, memory_padding_mask)
    return decode(block, x, scope.input(memory), Masks(causal, mask, padding_mask), of_memory)
