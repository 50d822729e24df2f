"""Activations and softmax."""

from engine.ops.activation import activation, gated, shrinkage, softmax

FAMILIES = (activation, gated, shrinkage, softmax)
