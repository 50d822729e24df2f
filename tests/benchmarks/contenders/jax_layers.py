"""Layers in JAX, as functions of named weights; linear weights are stored [in, out]."""

from __future__ import annotations

from collections.abc import Callable

import jax
from jax import lax

Arrays = dict[str, jax.Array]
Model = Callable[..., tuple[jax.Array, Arrays]]
"""From weights, running statistics and inputs to the scores, classes on the last axis, and new statistics."""


def linear(w: Arrays, name: str, x: jax.Array) -> jax.Array:
    return x @ w[f"{name}.weight"] + w[f"{name}.bias"]


def convolve(weight: jax.Array, x: jax.Array, stride: int = 1) -> jax.Array:
    """Convolve [batch, height, width, channels] by a square kernel, padded by 1 as in PyTorch."""
    kernel = weight.transpose(2, 3, 1, 0)
    return lax.conv_general_dilated(
        x, kernel, (stride, stride), ((1, 1), (1, 1)), dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def layer_norm(w: Arrays, name: str, x: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]
