"""Convolutions, poolings, resampling and sampling of images."""

from engine.ops.conv import adaptive, columns, conv, conv_primitives, grid, patches, pool, pooling, resize
