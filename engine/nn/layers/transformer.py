"""Layers of a transformer (Vaswani et al. 2017), batch first: encoder and decoder layers, stacks of them, and both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.core.attributes import Length, NonNegative, Share
from engine.core.errors import ShapeError
from engine.core.value import Shape, Value
from engine.nn.layers.attention import Attention
from engine.nn.layers.dense import linear
from engine.nn.layers.normalization import layer_norm
from engine.nn.layers.table import Inner, Layers, Scope, layer

Between = Literal["relu", "gelu"]


@dataclass(frozen=True, slots=True)
class Masks:
    """Masks of one attention: names of inputs, and whether steps attend to earlier steps and themselves only."""

    causal: bool = False
    mask: str | None = None
    padding_mask: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Options of the layers of a transformer, and the scope of one layer or of a stack."""

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

    def attention(self, name: str, x: Value, memory: Value, masks: Masks) -> Value:
        """Attend from x to `memory`."""
        attention = Attention(self.heads, masks.causal, self.bias, self.dropout, masks.mask, masks.padding_mask)
        return attention.attend(Inner(self.scope, name), x, memory)

    def feed_forward(self, x: Value) -> Value:
        """Apply two linear layers, the inner one of `width` units."""
        inner = linear(Inner(self.scope, "linear1"), x, units=self.width, bias=self.bias, activation=self.activation)
        inner = self.scope.apply("dropout", inner, name="dropout", p=self.dropout)
        return linear(Inner(self.scope, "linear2"), inner, units=x.shape[-1], bias=self.bias)

    def encode(self, x: Value, masks: Masks) -> Value:
        """Build one layer of an encoder."""
        x = self.add(x, 1, lambda x: self.attention("self_attn", x, x, masks))
        return self.add(x, 2, self.feed_forward, last=True)

    def decode(self, x: Value, memory: Value, masks: Masks, of_memory: Masks) -> Value:
        """Build one layer of a decoder."""
        x = self.add(x, 1, lambda x: self.attention("self_attn", x, x, masks))
        x = self.add(x, 2, lambda x: self.attention("multihead_attn", x, memory, of_memory))
        return self.add(x, 3, self.feed_forward, last=True)

    def within(self, name: str) -> Block:
        """Return the options with a scope nested in this one."""
        return replace(self, scope=Inner(self.scope, name))

    def encoder(self, x: Value, layers: int, masks: Masks) -> Value:
        """Build a stack of layers of an encoder."""
        for number in range(layers):
            x = self.within(f"layers.{number}").encode(x, masks)
        return x

    def decoder(self, x: Value, memory: Value, layers: int, masks: Masks, of_memory: Masks) -> Value:
        """Build a stack of layers of a decoder."""
        for number in range(layers):
            x = self.within(f"layers.{number}").decode(x, memory, masks, of_memory)
        return x

    def final_norm(self, scope: Scope, x: Value) -> Value:
        """Normalise the output of the last layer."""
        return layer_norm(scope, x, eps=self.eps, bias=self.bias)


class Unnamed(Inner):
    """A nested scope whose op computes the output of the whole layer and takes the layer's name."""

    def __init__(self, scope: Scope, name: str, whole: Scope | None = None) -> None:
        """Nest in `scope`; `whole` is the scope of the whole layer, by default that one."""
        super().__init__(scope, name)
        self._whole = whole or scope

    def apply_all(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> tuple[Value, ...]:
        return self._whole.apply_all(op, *inputs, name=name, **attrs)


class _Xavier:
    """A scope in which every matrix is initialised with xavier_uniform, as in torch.nn.Transformer."""

    def __init__(self, scope: Scope) -> None:
        """Wrap `scope`."""
        self._scope = scope
        self.input, self.replace_input, self.buffer = scope.input, scope.replace_input, scope.buffer
        self.apply, self.apply_all = scope.apply, scope.apply_all

    def parameter(self, name: str, shape: Shape, **init: Any) -> Value:
        """Declare a parameter."""
        return self._scope.parameter(name, shape, **({"kind": "xavier_uniform"} if len(shape) > 1 else init))


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
    return block.encode(x, Masks(causal, mask, padding_mask))


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
    return block.decode(x, scope.input(memory), Masks(causal, mask, padding_mask), of_memory)


@layer
def transformer_encoder(
    scope: Scope,
    x: Value,
    *,
    heads: Length,
    layers: Layers,
    width: Length = 2048,
    dropout: Share = 0.1,
    activation: Between = "relu",
    eps: NonNegative = 1e-5,
    norm_first: bool = False,
    bias: bool = True,
    norm: bool = False,
    causal: bool = False,
    mask: str | None = None,
    padding_mask: str | None = None,
) -> Value:
    """A stack of transformer_encoder_layer, each with its own weights, optionally with a final `norm`.

    Parameters are named as in torch.nn.TransformerEncoder: layers.0.linear1.weight, norm.weight; layers are initialised
    independently.
    """
    block = Block(scope, heads, width, dropout, activation, eps, norm_first, bias)
    x = block.encoder(x, layers, Masks(causal, mask, padding_mask))
    return block.final_norm(Unnamed(scope, "norm"), x) if norm else x


@layer
def transformer_decoder(
    scope: Scope,
    x: Value,
    *,
    memory: str,
    heads: Length,
    layers: Layers,
    width: Length = 2048,
    dropout: Share = 0.1,
    activation: Between = "relu",
    eps: NonNegative = 1e-5,
    norm_first: bool = False,
    bias: bool = True,
    norm: bool = False,
    causal: bool = True,
    mask: str | None = None,
    padding_mask: str | None = None,
    memory_mask: str | None = None,
    memory_padding_mask: str | None = None,
) -> Value:
    """A stack of transformer_decoder_layer that attend to `memory`, optionally with a final `norm`.

    Parameters are named as in torch.nn.TransformerDecoder.
    """
    block = Block(scope, heads, width, dropout, activation, eps, norm_first, bias)
    masks, of_memory = Masks(causal, mask, padding_mask), Masks(False, memory_mask, memory_padding_mask)
    x = block.decoder(x, scope.input(memory), layers, masks, of_memory)
    return block.final_norm(Unnamed(scope, "norm"), x) if norm else x


@layer
def transformer(
    scope: Scope,
    x: Value,
    *,
    target: str,
    heads: Length = 8,
    encoder_layers: Layers = 6,
    decoder_layers: Layers = 6,
    width: Length = 2048,
    dropout: Share = 0.1,
    activation: Between = "relu",
    eps: NonNegative = 1e-5,
    norm_first: bool = False,
    bias: bool = True,
    causal: bool = True,
    mask: str | None = None,
    padding_mask: str | None = None,
    target_mask: str | None = None,
    target_padding_mask: str | None = None,
    memory_mask: str | None = None,
    memory_padding_mask: str | None = None,
) -> Value:
    """An encoder of x [rows, columns, features] and a decoder of `target` that attends to the encoder's output.

    `target` names an input of the model [rows, steps, features]; the result has its shape. `causal` applies to the
    decoder; `mask` and `padding_mask` are those of the encoder, the other masks those of the decoder. Parameters and
    initialisers are those of torch.nn.Transformer: encoder.layers.0..., encoder.norm, decoder.layers.0...,
    decoder.norm; matrices are initialised with xavier_uniform.
    """
    block = Block(_Xavier(scope), heads, width, dropout, activation, eps, norm_first, bias)
    flowing = scope.input(target)
    if x.ndim != 3 or flowing.ndim != 3 or x.shape[2] != flowing.shape[2]:
        raise ShapeError(
            f"transformer needs an input and a target [rows, steps, features] of one width, got {list(x.shape)} and "
            f"{list(flowing.shape)}"
        )
    encoder, decoder = block.within("encoder"), block.within("decoder")
    memory = encoder.encoder(x, encoder_layers, Masks(False, mask, padding_mask))
    memory = block.final_norm(Inner(encoder.scope, "norm"), memory)
    masks = Masks(causal, target_mask, target_padding_mask)
    of_memory = Masks(False, memory_mask, memory_padding_mask)
    flowing = decoder.decoder(flowing, memory, decoder_layers, masks, of_memory)
    return block.final_norm(Unnamed(decoder.scope, "norm", scope), flowing)
