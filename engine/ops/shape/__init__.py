"""Axes and elements moved, padded, windowed; arrays created."""

from engine.ops.shape import arrangement, creation, pad_modes, shape, strided
