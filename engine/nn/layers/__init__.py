"""Layers and losses of the `layers` form of a graph definition; importing this package declares all of them."""

# The catalogue lists layers in the order of these imports.
# isort: off
from engine.nn.layers import activation
from engine.nn.layers import attention
from engine.nn.layers import convolution
from engine.nn.layers import dense
from engine.nn.layers import dropout
from engine.nn.layers import augmentation
from engine.nn.layers import containers
from engine.nn.layers import normalization
from engine.nn.layers import pooling
from engine.nn.layers import positional_encoding
from engine.nn.layers import recurrent
from engine.nn.layers import embedding
from engine.nn.layers import shape
from engine.nn.layers import transformer
from engine.nn.layers import tabular

# isort: on
from engine.nn.layers.losses import loss_catalogue, loss_declarations
from engine.nn.layers.table import LAYERS, find_layer, layer_catalogue

__all__ = [
    "LAYERS",
    "activation",
    "attention",
    "augmentation",
    "containers",
    "convolution",
    "dense",
    "dropout",
    "embedding",
    "find_layer",
    "layer_catalogue",
    "loss_catalogue",
    "loss_declarations",
    "normalization",
    "pooling",
    "positional_encoding",
    "recurrent",
    "shape",
    "tabular",
    "transformer",
]
