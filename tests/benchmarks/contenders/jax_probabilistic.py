"""Models in JAX whose loss is the likelihood of a distribution, and these losses."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

from tests.benchmarks.contenders.jax_layers import Arrays, Model
from tests.benchmarks.families import GaussianProcess, MixtureDensity, VariationalAutoencoder


def covariance(family: GaussianProcess) -> Model:
    """Return the covariance of the targets of a Gaussian process."""

    def created(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        scaled = x / jnp.exp(w["log_length"])
        norms = (scaled * scaled).sum(1, keepdims=True)
        distances = jnp.maximum(norms + norms.T - 2 * (scaled @ scaled.T), 0)
        noise = jnp.exp(w["log_noise"]) + family.jitter
        return jnp.exp(2 * w["log_amplitude"] - 0.5 * distances) + noise * jnp.eye(len(x), dtype=x.dtype), s

    return created


def marginal_likelihood(covariance: jax.Array, label: jax.Array) -> jax.Array:
    """Return the negative logarithm of the likelihood for each row, up to a constant."""
    factor = jnp.linalg.cholesky(covariance)
    white = solve_triangular(factor, label, lower=True)
    return (0.5 * (white * white).sum() + jnp.log(jnp.diagonal(factor)).sum()) / len(label)


def mixture_parts(family: MixtureDensity) -> Model:
    """Return logits, means and logarithms of scales of the components of a mixture."""
    depth = len(family.hidden)

    def parts(w: Arrays, s: Arrays, x: jax.Array) -> tuple[Any, Arrays]:
        for place in range(depth):
            x = jnp.tanh(x @ w[f"w{place}"] + w[f"b{place}"])
        return jnp.split(x @ w[f"w{depth}"] + w[f"b{depth}"], 3, 1), s

    return parts


def mixture(created: Any, label: jax.Array) -> jax.Array:
    """Return the mean negative logarithm of the density, up to a constant."""
    logits, means, log_scale = created
    z = (label[:, None] - means) * jnp.exp(-log_scale)
    return -jax.nn.logsumexp(jax.nn.log_softmax(logits, 1) - log_scale - 0.5 * z * z, 1).mean()


def codes(_family: VariationalAutoencoder) -> Model:
    """Return logits of pixels, means and logarithms of variances of codes."""

    def linear(w: Arrays, name: str, x: jax.Array) -> jax.Array:
        return x @ w[name] + w[f"{name}_bias"]

    def created(w: Arrays, s: Arrays, x: jax.Array, noise: jax.Array) -> tuple[Any, Arrays]:
        mean, log_variance = jnp.split(linear(w, "code", jax.nn.relu(linear(w, "encode", x))), 2, 1)
        sample = mean + jnp.exp(0.5 * log_variance) * noise
        return (linear(w, "decode", jax.nn.relu(linear(w, "widen", sample))), mean, log_variance), s

    return created


def evidence_bound(created: Any, label: jax.Array) -> jax.Array:
    """Return the negative evidence lower bound for each row (Kingma and Welling 2014)."""
    logits, mean, log_variance = created
    divergence = -0.5 * (1 + log_variance - mean * mean - jnp.exp(log_variance)).sum(1)
    return (jax.nn.softplus(logits) - logits * label).sum(1).mean() + divergence.mean()
