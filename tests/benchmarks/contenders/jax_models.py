"""The models in JAX, as functions of named weights; linear weights are stored [in, out]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tests.benchmarks.families import (
    Columns,
    ConvNet,
    Family,
    Mlp,
    Recurrent,
    ResidualNet,
    Tabular,
    Transformer,
)

Arrays = dict[str, jax.Array]
Model = Callable[..., tuple[jax.Array, Arrays]]
"""From weights, running statistics and inputs to the scores, classes on the last axis, and new statistics."""

TABLES = ("embedding_0.weight", "learned_positions_0.weight", "table")
MOMENTUM = 0.1


def model(family: Family) -> Model:
    """Return the model's function."""
    makes: dict[type, Callable[[Any], Model]] = {
        Mlp: _mlp,
        ConvNet: _conv_net,
        ResidualNet: _residual_net,
        Transformer: _transformer,
        Recurrent: _recurrent,
        Tabular: _tabular,
    }
    return makes[type(family)](family)


def stored(weights: Columns) -> Arrays:
    """Return the weights as the functions want them; stacks of matrices too."""
    return {n: jnp.asarray(a.swapaxes(-1, -2) if _is_linear(n, a.shape) else a) for n, a in weights.items()}


def statistics(family: Family, weights: Columns) -> Arrays:
    """Return the running means and variances that batch norms start with."""
    if not isinstance(family, ResidualNet):
        return {}
    norms = [name.removesuffix(".bias") for name in weights if name.endswith(".bias") and name != "linear_0.bias"]
    start = {f"{norm}.mean": jnp.zeros(weights[f"{norm}.bias"].shape) for norm in norms}
    return start | {f"{norm}.variance": jnp.ones(weights[f"{norm}.bias"].shape) for norm in norms}


def _is_linear(name: str, shape: tuple[int, ...]) -> bool:
    return len(shape) in (2, 3) and name not in TABLES and "bias" not in name


def _linear(w: Arrays, name: str, x: jax.Array) -> jax.Array:
    return x @ w[f"{name}.weight"] + w[f"{name}.bias"]


def _mlp(family: Mlp) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        depth = len(family.widths) - 1
        for place in range(depth):
            x = _linear(w, f"linear_{place}", x)
            x = jax.nn.relu(x) if place < depth - 1 else x
        return x, s

    return scores


def _convolve(weight: jax.Array, x: jax.Array, stride: int = 1) -> jax.Array:
    """Convolve [batch, height, width, channels] by a kernel of 3, padded by 1 as in PyTorch."""
    kernel = weight.transpose(2, 3, 1, 0)
    return lax.conv_general_dilated(
        x, kernel, (stride, stride), ((1, 1), (1, 1)), dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _conv_net(family: ConvNet) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        x = x.transpose(0, 2, 3, 1)
        for place in range(len(family.channels)):
            x = jax.nn.relu(_convolve(w[f"conv2d_{place}.weight"], x) + w[f"conv2d_{place}.bias"])
            rows, height, width, channels = x.shape
            x = x.reshape(rows, height // 2, 2, width // 2, 2, channels).max((2, 4))  # faster than reduce_window
        # The linear layer counts channels first.
        return _linear(w, "linear_0", x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)), s

    return scores


def _batch_norm(w: Arrays, s: Arrays, name: str, x: jax.Array) -> jax.Array:
    """Normalise channels, and move the statistics `s` as PyTorch does: towards the unbiased variance."""
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    count = x.size // x.shape[-1]
    for kind, value in (("mean", mean), ("variance", variance * count / (count - 1))):
        s[f"{name}.{kind}"] = (1 - MOMENTUM) * s[f"{name}.{kind}"] + MOMENTUM * lax.stop_gradient(value)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


def _residual_net(family: ResidualNet) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        x, s = x.transpose(0, 2, 3, 1), dict(s)
        for place in range(len(family.channels)):
            x = _convolve(w[f"conv2d_{place}.weight"], x, 2 if place else 1)
            x = jax.nn.relu(_batch_norm(w, s, f"batch_norm_{place}", x))
            block = f"residual_{place}"
            y = jax.nn.relu(_batch_norm(w, s, f"{block}.1", _convolve(w[f"{block}.0.weight"], x)))
            y = _batch_norm(w, s, f"{block}.4", _convolve(w[f"{block}.3.weight"], y))
            x = jax.nn.relu(x + y)
        return _linear(w, "linear_0", x.mean((1, 2))), s

    return scores


def _layer_norm(w: Arrays, name: str, x: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]


def _attend(w: Arrays, name: str, x: jax.Array, heads: int) -> jax.Array:
    rows, steps, width = x.shape
    joined = x @ w[f"{name}.in_proj_weight"] + w[f"{name}.in_proj_bias"]
    query, key, value = joined.reshape(rows, steps, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    seen = jnp.tril(jnp.ones((steps, steps), bool))
    scores = jnp.where(seen, (query @ key.transpose(0, 1, 3, 2)) * (width // heads) ** -0.5, -1e30)
    mixed = (jax.nn.softmax(scores, -1) @ value).transpose(0, 2, 1, 3).reshape(rows, steps, width)
    return _linear(w, f"{name}.out_proj", mixed)


def _transformer(family: Transformer) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        h = w["embedding_0.weight"][x] + w["learned_positions_0.weight"]
        for place in range(family.layers):
            first, second = f"residual_{2 * place}", f"residual_{2 * place + 1}"
            h = h + _attend(w, f"{first}.1", _layer_norm(w, f"{first}.0", h), family.heads)
            up = _linear(w, f"{second}.1", _layer_norm(w, f"{second}.0", h))
            h = h + _linear(w, f"{second}.3", jax.nn.gelu(up, approximate=True))
        return _linear(w, "linear_0", _layer_norm(w, "layer_norm_0", h)), s

    return scores


def _recurrent(family: Recurrent) -> Model:
    name, units = f"{family.cell}_0", family.units

    def lstm(carry: tuple[jax.Array, jax.Array], entering: jax.Array, w: Arrays) -> tuple[jax.Array, jax.Array]:
        h, c = carry
        gates = entering + h @ w[f"{name}.weight_hh_l0"] + w[f"{name}.bias_hh_l0"]
        i, f, g, o = jnp.split(gates, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c

    def gru(carry: tuple[jax.Array, jax.Array], entering: jax.Array, w: Arrays) -> tuple[jax.Array, jax.Array]:
        h, unused = carry
        again = h @ w[f"{name}.weight_hh_l0"] + w[f"{name}.bias_hh_l0"]
        (r, z, n), (hr, hz, hn) = jnp.split(entering, 3, -1), jnp.split(again, 3, -1)
        r, z = jax.nn.sigmoid(r + hr), jax.nn.sigmoid(z + hz)
        return (1 - z) * jnp.tanh(n + r * hn) + z * h, unused

    cell = {"lstm": lstm, "gru": gru}[family.cell]

    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        # The product with the inputs does not wait for the states: one for all steps.
        entering = (x @ w[f"{name}.weight_ih_l0"] + w[f"{name}.bias_ih_l0"]).transpose(1, 0, 2)
        start = jnp.zeros((x.shape[0], units), x.dtype)
        (h, _), _ = lax.scan(lambda carry, row: (cell(carry, row, w), None), (start, start), entering)
        return _linear(w, "linear_0", h), s

    return scores


def _tabular(family: Tabular) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array, numbers: jax.Array) -> tuple[jax.Array, Arrays]:
        h = jnp.concatenate([w["table"][x].reshape(x.shape[0], -1), numbers], 1)
        for place in range(len(family.widths)):
            h = h @ w[f"w{place}"] + w[f"b{place}"]
            h = jax.nn.relu(h) if place < len(family.widths) - 1 else h
        return h, s

    return scores
