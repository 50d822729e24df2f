"""Stacks of transformer layers (Vaswani et al. 2017): encoder, decoder, and both together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.core.attributes import Length, NonNegative, Share
from engine.core.errors import ShapeError
from engine.core.value import Shape, Value
from engine.nn.layers.normalization import layer_norm
from engine.nn.layers.table import Inner, Layers, Scope, layer
from engine.nn.layers.transformer import Between, Block, Masks, Unnamed, decode, encode


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


class _FinalNorm(Inner):
    """A nested scope whose op computes the output of the whole layer and takes the layer's name."""

    def __init__(self, scope: Scope, name: str, whole: Scope) -> None:
        super().__init__(scope, name)
        self._whole = whole

    def apply_all(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> tuple[Value, ...]:
        return self._whole.apply_all(op, *inputs, name=name, **attrs)


@dataclass(frozen=True, slots=True)
class _Form:
    """Options shared by all layers of a transformer."""

    kind: str
    heads: int
    width: int
    dropout: float
    activation: Between
    eps: float
    norm_first: bool
    bias: bool

    def block(self, scope: Scope) -> Block:
        """Return the parts of one layer in its scope."""
        return Block(scope, self.heads, self.width, self.dropout, self.activation, self.eps, self.norm_first, self.bias)

    def encoder(self, scope: Scope, x: Value, layers: int, masks: Masks) -> Value:
        for number in range(layers):
            x = encode(self.block(Inner(scope, f"layers.{number}")), x, masks)
        return x

    def decoder(self, scope: Scope, x: Value, memory: Value, layers: int, masks: Masks, of_memory: Masks) -> Value:
        for number in range(layers):
            x = decode(self.block(Inner(scope, f"layers.{number}")), x, memory, masks, of_memory)
        return x

    def norm(self, place: Scope, x: Value) -> Value:
        """Normalise the output of the last layer."""
        return layer_norm(place, x, eps=self.eps, bias=self.bias)


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
    form = _Form("transformer_encoder", heads, width, dropout, activation, eps, norm_first, bias)
    x = form.encoder(scope, x, layers, Masks(causal, mask, padding_mask))
    return form.norm(Unnamed(scope, "norm"), x) if norm else x


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
    form = _Form("transformer_decoder", heads, width, dropout, activation, eps, norm_first, bias)
    masks, of_memory = Masks(causal, mask, padding_mask), Masks(False, memory_mask, memory_padding_mask)
    x = form.decoder(scope, x, scope.input(memory), layers, masks, of_memory)
    return form.norm(Unnamed(scope, "norm"), x) if norm else x


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
    form = _Form("transformer", heads, width, dropout, activation, eps, norm_first, bias)
    flowing = scope.input(target)
    if x.ndim != 3 or flowing.ndim != 3 or x.shape[2] != flowing.shape[2]:
        raise ShapeError(
            f"transformer needs an input and a target [rows, steps, features] of one width, got {list(x.shape)} and "
            f"{list(flowing.shape)}"
        )
    place = Inner(_Xavier(scope), "encoder")
    memory = form.encoder(place, x, encoder_layers, Masks(False, mask, padding_mask))
    memory = form.norm(Inner(place, "norm"), memory)
    place = Inner(_Xavier(scope), "decoder")
    masks = Masks(causal, target_mask, target_padding_mask)
    of_memory = Masks(False, memory_mask, memory_padding_mask)
    flowing = form.decoder(place, flowing, memory, decoder_layers, masks, of_memory)
    return form.norm(_FinalNorm(place, "norm", scope), flowing)
