"""Values joined, repeated, padded and replaced in parts."""

from engine.ops.arrange import joining, replace, tiling
