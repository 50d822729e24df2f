"""Layers and losses: what the `layers` spelling of a graph is made of; importing it declares every family."""

from engine.nn.layers import (
    activation,
    attention,
    convolution,
    dense,
    dropout,
    nesting,
    normalization,
    pooling,
    position,
    recurrent,
    rows,
    shape,
    transformer,
    transformer_stack,
)
from engine.nn.layers.losses import LOSSES, loss_catalogue
from engine.nn.layers.table import LAYERS, find_layer, layer_catalogue

__all__ = [
    "LAYERS",
    "LOSSES",
    "activation",
    "attention",
    "convolution",
    "dense",
    "dropout",
    "find_layer",
    "layer_catalogue",
    "loss_catalogue",
    "nesting",
    "normalization",
    "pooling",
    "position",
    "recurrent",
    "rows",
    "shape",
    "transformer",
    "transformer_stack",
]
