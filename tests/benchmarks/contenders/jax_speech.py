"""The recogniser of speech in JAX, and its loss."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tests.benchmarks.contenders.jax_layers import Arrays, Model, linear
from tests.benchmarks.families import Recogniser


def recogniser(family: Recogniser) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array, lengths: jax.Array) -> tuple[Any, Arrays]:
        # As all weights of three axes, the kernel is stored with the last two exchanged.
        kernel = w["conv1d_0.weight"].transpose(1, 2, 0)
        order = ("NWC", "WIO", "NWC")
        h = lax.conv_general_dilated(x.transpose(0, 2, 1), kernel, (1,), ((1, 1),), dimension_numbers=order)
        h = jax.nn.relu(h + w["conv1d_0.bias"]).transpose(1, 0, 2)
        entering = h @ w["gru_0.weight_ih_l0"] + w["gru_0.bias_ih_l0"]

        def step(state: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
            again = state @ w["gru_0.weight_hh_l0"] + w["gru_0.bias_hh_l0"]
            (r, z, n), (hr, hz, hn) = jnp.split(row, 3, -1), jnp.split(again, 3, -1)
            r, z = jax.nn.sigmoid(r + hr), jax.nn.sigmoid(z + hz)
            state = (1 - z) * jnp.tanh(n + r * hn) + z * state
            return state, state

        states = lax.scan(step, jnp.zeros((x.shape[0], family.units), x.dtype), entering)[1]
        return (jax.nn.log_softmax(linear(w, "linear_0", states), -1), lengths), s

    return scores


def ctc_loss(log_probs: jax.Array, label: jax.Array, lengths: jax.Array) -> jax.Array:
    """Return the mean over rows of -log of the likelihood of labels by their length; log_probs [steps, rows, classes].

    The states of a row are blank, label, blank, ..., blank; what is impossible has the logarithm -1e30.
    """
    rows, longest = label.shape
    states = jnp.zeros((rows, 2 * longest + 1), label.dtype).at[:, 1::2].set(label)
    skips = jnp.zeros(states.shape, bool).at[:, 2:].set((states[:, 2:] != 0) & (states[:, 2:] != states[:, :-2]))
    emitted = jnp.take_along_axis(log_probs, jnp.broadcast_to(states, (len(log_probs), *states.shape)), -1)

    def moved(now: jax.Array, by: int) -> jax.Array:
        return jnp.pad(now, ((0, 0), (by, 0)), constant_values=-1e30)[:, :-by]

    def step(now: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
        skipped = jnp.where(skips, moved(now, 2), -1e30)
        return jax.nn.logsumexp(jnp.stack([now, moved(now, 1), skipped]), 0) + row, None

    start = jnp.where(jnp.arange(states.shape[1]) < 2, emitted[0], -1e30)
    last = lax.scan(step, start, emitted[1:])[0]
    ends = jnp.take_along_axis(last, 2 * lengths[:, None] - jnp.array([[0, 1]]), 1)
    return (-jax.nn.logsumexp(ends, 1) / lengths).mean()
