"""Layers and losses: what the `layers` spelling of a graph is made of."""

from engine.layers.losses import LOSSES, loss_catalogue
from engine.layers.table import LAYERS, find_layer, layer_catalogue

__all__ = ["LAYERS", "LOSSES", "find_layer", "layer_catalogue", "loss_catalogue"]
