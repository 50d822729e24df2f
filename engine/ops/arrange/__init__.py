"""Values joined, repeated, padded and replaced in parts."""

from engine.ops.arrange import joining, padding, replace, tiling

FAMILIES = (joining, padding, replace, tiling)
