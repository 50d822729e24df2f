"""Transforms of gradients: the links of optimizers, clipping, and noise."""
