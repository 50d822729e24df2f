"""Activations and softmax."""

from engine.ops.activation import activation, gated, softmax

FAMILIES = (activation, gated, softmax)
