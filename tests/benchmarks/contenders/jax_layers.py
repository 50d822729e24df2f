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


def convolve(weight: jax.Array, x: jax.Array, stride: int = 1, groups: int = 1) -> jax.Array:
    """Convolve [batch, height, width, channels] by a square kernel, padded by 1 unless it is 1."""
    kernel, border = weight.transpose(2, 3, 1, 0), (min(weight.shape[2] // 2, 1),) * 2
    order = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        x, kernel, (stride, stride), (border, border), dimension_numbers=order, feature_group_count=groups
    )


def layer_norm(w: Arrays, name: str, x: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]
