"""The models in JAX, as functions of named weights; linear weights are stored [in, out]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tests.benchmarks.contenders.jax_layers import Arrays, Model, convolve, layer_norm, linear
from tests.benchmarks.contenders.jax_probabilistic import codes, covariance, mixture_parts
from tests.benchmarks.contenders.jax_speech import recogniser
from tests.benchmarks.families import (
    Autoencoder,
    Columns,
    Contrastive,
    ConvNet,
    ConvNext,
    Discriminator,
    Encoder,
    FactorizationMachine,
    Factors,
    Family,
    GaussianProcess,
    Logistic,
    MixtureDensity,
    Mlp,
    Recogniser,
    Recurrent,
    ResidualNet,
    Segmenter,
    SeparableNet,
    Tabular,
    Transformer,
    VariationalAutoencoder,
    Vocabulary,
)

Carry = tuple[jax.Array, jax.Array]

TABLES = ("embedding", "learned_positions", "table", "user", "item")
"""How the names of matrices begin that are no weights of linear layers."""
MOMENTUM = 0.1


def model(family: Family) -> Model:
    """Return the model's function."""
    makes: dict[type, Callable[[Any], Model]] = {
        Mlp: _mlp,
        Logistic: _logistic,
        ConvNet: _conv_net,
        ResidualNet: _residual_net,
        SeparableNet: _separable_net,
        Autoencoder: _autoencoder,
        Transformer: _transformer,
        Encoder: _encoder,
        Recurrent: _recurrent,
        Tabular: _tabular,
        Factors: _factors,
        Vocabulary: _vocabulary,
        ConvNext: _conv_next,
        Discriminator: _discriminator,
        FactorizationMachine: _factorization_machine,
        Recogniser: recogniser,
        Contrastive: _contrastive,
        Segmenter: _segmenter,
        GaussianProcess: covariance,
        MixtureDensity: mixture_parts,
        VariationalAutoencoder: codes,
    }
    return makes[type(family)](family)


def stored(weights: Columns) -> Arrays:
    """Return the weights as the functions want them; stacks of matrices too."""
    return {n: jnp.asarray(a.swapaxes(-1, -2) if _is_linear(n, a.shape) else a) for n, a in weights.items()}


def statistics(family: Family, weights: Columns) -> Arrays:
    """Return the running means and variances that batch norms start with."""
    if not isinstance(family, ResidualNet | SeparableNet):
        return {}
    norms = [name.removesuffix(".bias") for name in weights if name.endswith(".bias") and name != "linear_0.bias"]
    start = {f"{norm}.mean": jnp.zeros(weights[f"{norm}.bias"].shape) for norm in norms}
    return start | {f"{norm}.variance": jnp.ones(weights[f"{norm}.bias"].shape) for norm in norms}


def _is_linear(name: str, shape: tuple[int, ...]) -> bool:
    return len(shape) in (2, 3) and not name.startswith(TABLES) and "bias" not in name


def _mlp(family: Mlp) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        depth = len(family.widths) - 1
        activation = {"relu": jax.nn.relu, "tanh": jnp.tanh}[family.activation]
        for place in range(depth - 1):
            x = linear(w, f"linear_{place}", x)
            x = activation(layer_norm(w, f"layer_norm_{place}", x) if family.norm else x)
        return linear(w, f"linear_{depth - 1}", x), s

    return scores


def _logistic(family: Logistic) -> Model:
    return lambda w, s, x: (linear(w, "linear_0", x), s)


def _conv_net(family: ConvNet) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        x = x.transpose(0, 2, 3, 1)
        for place in range(len(family.channels)):
            x = jax.nn.relu(convolve(w[f"conv2d_{place}.weight"], x) + w[f"conv2d_{place}.bias"])
            rows, height, width, channels = x.shape
            x = x.reshape(rows, height // 2, 2, width // 2, 2, channels).max((2, 4))  # faster than reduce_window
        # The linear layer counts channels first.
        return linear(w, "linear_0", x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)), s

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
            x = convolve(w[f"conv2d_{place}.weight"], x, 2 if place else 1)
            x = jax.nn.relu(_batch_norm(w, s, f"batch_norm_{place}", x))
            block = f"residual_{place}"
            y = jax.nn.relu(_batch_norm(w, s, f"{block}.1", convolve(w[f"{block}.0.weight"], x)))
            y = _batch_norm(w, s, f"{block}.4", convolve(w[f"{block}.3.weight"], y))
            x = jax.nn.relu(x + y)
        return linear(w, "linear_0", x.mean((1, 2))), s

    return scores


def _separable_net(family: SeparableNet) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        x, s = x.transpose(0, 2, 3, 1), dict(s)
        for place, (before, _, stride) in enumerate(family.convolutions()):
            x = convolve(w[f"conv2d_{place}.weight"], x, stride, before if place % 2 else 1)
            x = jax.nn.relu6(_batch_norm(w, s, f"batch_norm_{place}", x))
        return linear(w, "linear_0", x.mean((1, 2))), s

    return scores


def _autoencoder(family: Autoencoder) -> Model:
    depth = len(family.channels)

    def widened(w: Arrays, name: str, x: jax.Array) -> jax.Array:
        """Apply a transposed convolution of stride 2: a convolution of the image with zeros in between."""
        kernel = w[f"{name}.weight"][:, :, ::-1, ::-1].transpose(2, 3, 0, 1)
        created = lax.conv_general_dilated(
            x, kernel, (1, 1), ((1, 2), (1, 2)), lhs_dilation=(2, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return created + w[f"{name}.bias"]

    def image(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        x = x.transpose(0, 2, 3, 1)
        for place in range(depth):
            x = jax.nn.relu(convolve(w[f"conv2d_{place}.weight"], x, 2) + w[f"conv2d_{place}.bias"])
        for place in range(depth):
            x = widened(w, f"conv_transpose2d_{place}", x)
            x = jax.nn.relu(x) if place < depth - 1 else x
        return x.transpose(0, 3, 1, 2), s

    return image


def _attend(w: Arrays, name: str, x: jax.Array, heads: int, seen: jax.Array) -> jax.Array:
    rows, steps, width = x.shape
    joined = x @ w[f"{name}.in_proj_weight"] + w[f"{name}.in_proj_bias"]
    query, key, value = joined.reshape(rows, steps, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    scores = jnp.where(seen, (query @ key.transpose(0, 1, 3, 2)) * (width // heads) ** -0.5, -1e30)
    mixed = (jax.nn.softmax(scores, -1) @ value).transpose(0, 2, 1, 3).reshape(rows, steps, width)
    return linear(w, f"{name}.out_proj", mixed)


def _transformer(family: Transformer) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        h = w["embedding_0.weight"][x] + w["learned_positions_0.weight"]
        seen = jnp.tril(jnp.ones((family.steps, family.steps), bool))
        for place in range(family.layers):
            first, second = f"residual_{2 * place}", f"residual_{2 * place + 1}"
            h = h + _attend(w, f"{first}.1", layer_norm(w, f"{first}.0", h), family.heads, seen)
            up = linear(w, f"{second}.1", layer_norm(w, f"{second}.0", h))
            h = h + linear(w, f"{second}.3", jax.nn.gelu(up, approximate=True))
        return linear(w, "linear_0", layer_norm(w, "layer_norm_0", h)), s

    return scores


def _encoder(family: Encoder) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array, padding: jax.Array) -> tuple[jax.Array, Arrays]:
        h = w["embedding_0.weight"][x] + w["learned_positions_0.weight"]
        for place in range(family.layers):
            name = f"transformer_encoder_0.layers.{place}"
            h = h + _attend(
                w, f"{name}.self_attn", layer_norm(w, f"{name}.norm1", h), family.heads, ~padding[:, None, None]
            )
            up = jax.nn.relu(linear(w, f"{name}.linear1", layer_norm(w, f"{name}.norm2", h)))
            h = h + linear(w, f"{name}.linear2", up)
        return linear(w, "linear_0", layer_norm(w, "transformer_encoder_0.norm", h).mean(1)), s

    return scores


def _recurrent(family: Recurrent) -> Model:
    name, units = f"{family.cell}_0", family.units

    def lstm(
        carry: tuple[jax.Array, jax.Array], entering: jax.Array, w: Arrays, place: int
    ) -> tuple[jax.Array, jax.Array]:
        h, c = carry
        gates = entering + h @ w[f"{name}.weight_hh_l{place}"] + w[f"{name}.bias_hh_l{place}"]
        i, f, g, o = jnp.split(gates, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c

    def gru(
        carry: tuple[jax.Array, jax.Array], entering: jax.Array, w: Arrays, place: int
    ) -> tuple[jax.Array, jax.Array]:
        h, unused = carry
        again = h @ w[f"{name}.weight_hh_l{place}"] + w[f"{name}.bias_hh_l{place}"]
        (r, z, n), (hr, hz, hn) = jnp.split(entering, 3, -1), jnp.split(again, 3, -1)
        r, z = jax.nn.sigmoid(r + hr), jax.nn.sigmoid(z + hz)
        return (1 - z) * jnp.tanh(n + r * hn) + z * h, unused

    cell = {"lstm": lstm, "gru": gru}[family.cell]

    def along(w: Arrays, x: jax.Array, place: int) -> jax.Array:
        """Return the states [steps, rows, units] of a layer over [steps, rows, width]."""
        # The product with the inputs does not wait for the states: one for all steps.
        entering = x @ w[f"{name}.weight_ih_l{place}"] + w[f"{name}.bias_ih_l{place}"]
        start = jnp.zeros((x.shape[1], units), x.dtype)

        def step(carry: Any, row: jax.Array) -> tuple[Any, jax.Array]:
            created = cell(carry, row, w, place)
            return created, created[0]

        return lax.scan(step, (start, start), entering)[1]

    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        h = x.transpose(1, 0, 2)
        for place in range(family.layers):
            h = along(w, h, place)
        return linear(w, "linear_0", h.transpose(1, 0, 2) if family.label_each_step else h[-1]), s

    return scores


def _tabular(family: Tabular) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array, numbers: jax.Array) -> tuple[jax.Array, Arrays]:
        if family.own_tables:
            looked_up = [w[f"table{k}"][x[:, k]] for k in range(family.categories)]
        else:
            looked_up = [w["table"][x].reshape(x.shape[0], -1)]
        h = jnp.concatenate([*looked_up, numbers], 1)
        for place in range(len(family.widths)):
            h = h @ w[f"w{place}"] + w[f"b{place}"]
            h = jax.nn.relu(h) if place < len(family.widths) - 1 else h
        return h, s

    return scores


def _factors(family: Factors) -> Model:
    def ratings(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        user, item = x[:, 0], x[:, 1]
        product = (w["users"][user] * w["items"][item]).sum(1)
        return product + w["user_bias"][user, 0] + w["item_bias"][item, 0], s

    return ratings


def _vocabulary(_family: Vocabulary) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        looked_up = w["embedding_0.weight"][x].reshape(x.shape[0], -1)
        return linear(w, "linear_1", jax.nn.relu(linear(w, "linear_0", looked_up))), s

    return scores


def _conv_next(family: ConvNext) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        stem = w["stem"].transpose(2, 3, 1, 0)
        order = ("NHWC", "HWIO", "NHWC")
        h = lax.conv_general_dilated(x.transpose(0, 2, 3, 1), stem, (4, 4), "VALID", dimension_numbers=order)
        h = h + w["stem_bias"]
        for k in range(family.blocks):
            kernel = w[f"depth{k}"].transpose(2, 3, 1, 0)
            a = lax.conv_general_dilated(
                h, kernel, (1, 1), ((3, 3), (3, 3)), dimension_numbers=order, feature_group_count=family.channels
            )
            centred = a + w[f"depth_bias{k}"]
            centred = centred - centred.mean(-1, keepdims=True)
            a = centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * w[f"norm{k}"] + w[f"norm_bias{k}"]
            b = jax.nn.gelu(a @ w[f"up{k}"] + w[f"up_bias{k}"], approximate=False)
            h = h + (b @ w[f"down{k}"] + w[f"down_bias{k}"]) * w[f"scale{k}"]
        return h.mean((1, 2)) @ w["head"] + w["head_bias"], s

    return scores


def _discriminator(family: Discriminator) -> Model:
    def normed(w: Arrays, name: str, x: jax.Array) -> jax.Array:
        parts = x.reshape(*x.shape[:3], family.groups, -1)
        centred = parts - parts.mean((1, 2, 4), keepdims=True)
        scaled = centred * lax.rsqrt((centred**2).mean((1, 2, 4), keepdims=True) + 1e-5)
        return scaled.reshape(x.shape) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        x = x.transpose(0, 2, 3, 1)
        for place in range(len(family.channels)):
            x = convolve(w[f"conv2d_{place}.weight"], x, 2) + w[f"conv2d_{place}.bias"]
            x = jax.nn.leaky_relu(normed(w, f"group_norm_{place - 1}", x) if place else x, 0.2)
        return linear(w, "linear_0", x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)), s

    return scores


def _factorization_machine(family: FactorizationMachine) -> Model:
    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        v = w["table"][x]
        total = v.sum(1)
        pairs = 0.5 * (total * total - (v * v).sum(1)).sum(1)
        h = v.reshape(x.shape[0], -1)
        for place, width in enumerate(family.widths):
            h = h @ w[f"w{place}"] + w[f"b{place}"]
            h = h if width == 1 else jax.nn.relu(h)
        return w["table_weight"][x].sum((1, 2)) + pairs + h[:, 0] + w["bias"], s

    return scores


def _contrastive(family: Contrastive) -> Model:
    depth = len(family.widths) - 1

    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        h = x.reshape(-1, x.shape[-1])
        for place in range(depth):
            h = h @ w[f"w{place}"] + w[f"b{place}"]
            h = h if place == depth - 1 else jax.nn.relu(h)
        z = h / jnp.maximum(jnp.sqrt((h * h).sum(1, keepdims=True)), 1e-12)
        alike = jnp.where(jnp.eye(len(z), dtype=bool), -1e9, z @ z.T / family.temperature)
        return alike.reshape(*x.shape[:2], -1), s

    return scores


def _segmenter(_family: Segmenter) -> Model:
    def convolved(w: Arrays, name: str, x: jax.Array) -> jax.Array:
        return convolve(w[name], x) + w[f"{name}_bias"]

    def halved(x: jax.Array) -> jax.Array:
        rows, height, width, channels = x.shape
        return x.reshape(rows, height // 2, 2, width // 2, 2, channels).max((2, 4))

    def joined(x: jax.Array, beside: jax.Array) -> jax.Array:
        rows, height, width, channels = x.shape
        return jnp.concatenate([jax.image.resize(x, (rows, 2 * height, 2 * width, channels), "bilinear"), beside], 3)

    def scores(w: Arrays, s: Arrays, x: jax.Array) -> tuple[jax.Array, Arrays]:
        a = jax.nn.relu(convolved(w, "down0", x.transpose(0, 2, 3, 1)))
        b = jax.nn.relu(convolved(w, "down1", halved(a)))
        c = jax.nn.relu(convolved(w, "bottom", halved(b)))
        d = jax.nn.relu(convolved(w, "up1", joined(c, b)))
        e = jax.nn.relu(convolved(w, "up0", joined(d, a)))
        return convolved(w, "head", e), s

    return scores
