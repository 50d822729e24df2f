"""Dropout of elements and of whole channels, and alpha dropout for selu."""

from __future__ import annotations

from engine.core.attributes import Fraction
from engine.core.value import Value
from engine.nn.layers.table import Scope, layer, layer_of_op


@layer
def dropout(scope: Scope, x: Value, *, p: Fraction = 0.5) -> Value:
    """Zero elements with probability p in training and scale the others by 1 / (1 - p); the identity in evaluation."""
    return scope.apply("dropout", x, p=p)


for _name in ("dropout1d", "dropout2d", "dropout3d", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"):
    layer_of_op(_name)
