"""Normalisation over axes, channels, groups."""

from engine.ops.normalization import channel_norm, normalization
