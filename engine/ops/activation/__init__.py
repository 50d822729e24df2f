"""Activations and softmax."""

from engine.ops.activation import activation, gated, softmax
