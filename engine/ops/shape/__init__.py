"""Ops that move, pad and window axes and elements, and that create arrays."""

from engine.ops.shape import arrangement, creation, likes, pad_modes, shape, strided
