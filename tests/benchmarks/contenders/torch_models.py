"""The models in PyTorch, with given weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.benchmarks.contenders.torch_probabilistic import Codes, Covariance, Mixture
from tests.benchmarks.contenders.torch_weights import Named, Weights
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


def module(family: Family, weights: Columns) -> nn.Module:
    """Return the model."""
    makes: dict[type, Callable[[Any, Weights], nn.Module]] = {
        Mlp: _mlp,
        Logistic: lambda family, weights: weights.linear("linear_0.weight"),
        ConvNet: _conv_net,
        ResidualNet: _residual_net,
        SeparableNet: _separable_net,
        Autoencoder: _autoencoder,
        Transformer: Characters,
        Encoder: Reader,
        Recurrent: States,
        Tabular: Lookup,
        Factors: Ratings,
        Vocabulary: _vocabulary,
        ConvNext: Patches,
        Discriminator: _discriminator,
        FactorizationMachine: Clicks,
        Recogniser: Sounds,
        Contrastive: Views,
        Segmenter: Pixels,
        GaussianProcess: Covariance,
        MixtureDensity: Mixture,
        VariationalAutoencoder: Codes,
    }
    return makes[type(family)](family, Weights(weights))


def _mlp(family: Mlp, weights: Weights) -> nn.Module:
    layers: list[nn.Module] = []
    for place, width in enumerate(family.widths[1:-1]):
        layers.append(weights.linear(f"linear_{place}.weight"))
        if family.norm:
            layers.append(weights.norm(nn.LayerNorm(width), f"layer_norm_{place}"))
        layers.append({"relu": nn.ReLU, "tanh": nn.Tanh}[family.activation]())
    return nn.Sequential(*layers, weights.linear(f"linear_{len(family.widths) - 2}.weight"))


def _conv_net(family: ConvNet, weights: Weights) -> nn.Module:
    layers: list[nn.Module] = []
    for place in range(len(family.channels)):
        layers += [weights.convolution(f"conv2d_{place}"), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), weights.linear("linear_0.weight"))


class Block(nn.Module):
    """Two convolutions, to whose result the input is added."""

    def __init__(self, weights: Weights, name: str) -> None:
        super().__init__()
        self.first, self.second = (weights.convolution(f"{name}.{place}", bias=False) for place in (0, 3))
        self.norm1, self.norm2 = (weights.batch_norm(f"{name}.{place}") for place in (1, 4))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm2(self.second(functional.relu(self.norm1(self.first(x)))))
        return functional.relu(y + x)


def _residual_net(family: ResidualNet, weights: Weights) -> nn.Module:
    layers: list[nn.Module] = []
    for place in range(len(family.channels)):
        layers.append(weights.convolution(f"conv2d_{place}", 2 if place else 1, bias=False))
        layers += [weights.batch_norm(f"batch_norm_{place}"), nn.ReLU(), Block(weights, f"residual_{place}")]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), weights.linear("linear_0.weight"))


def _separable_net(family: SeparableNet, weights: Weights) -> nn.Module:
    layers: list[nn.Module] = []
    for place, (before, kernel, stride) in enumerate(family.convolutions()):
        groups = before if place % 2 else 1
        layers.append(weights.convolution(f"conv2d_{place}", stride, bias=False, kernel=kernel, groups=groups))
        layers += [weights.batch_norm(f"batch_norm_{place}"), nn.ReLU6()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), weights.linear("linear_0.weight"))


def _autoencoder(family: Autoencoder, weights: Weights) -> nn.Module:
    depth = len(family.channels)
    layers: list[nn.Module] = []
    for place in range(depth):
        layers += [weights.convolution(f"conv2d_{place}", 2), nn.ReLU()]
    for place in range(depth):
        layers += [weights.transposed(f"conv_transpose2d_{place}"), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Attending(nn.Module):
    """One transformer layer, norm first."""

    def __init__(self, family: Transformer, weights: Weights, place: int) -> None:
        super().__init__()
        first, second = f"residual_{2 * place}", f"residual_{2 * place + 1}"
        self.heads = family.heads
        self.norm1, self.norm2 = (weights.norm(nn.LayerNorm(family.width), f"{name}.0") for name in (first, second))
        self.joined = weights.linear(f"{first}.1.in_proj_weight", f"{first}.1.in_proj_bias")
        self.projection = weights.linear(f"{first}.1.out_proj.weight")
        self.up, self.down = weights.linear(f"{second}.1.weight"), weights.linear(f"{second}.3.weight")

    def forward(self, x: Tensor) -> Tensor:
        rows, steps, width = x.shape
        joined = self.joined(self.norm1(x)).view(rows, steps, 3, self.heads, width // self.heads)
        query, key, value = joined.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.projection(seen.transpose(1, 2).reshape(rows, steps, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Characters(nn.Module):
    """The transformer; its scores have the classes on axis 1."""

    def __init__(self, family: Transformer, weights: Weights) -> None:
        super().__init__()
        self.table, self.positions = weights["embedding_0.weight"], weights["learned_positions_0.weight"]
        self.blocks = nn.Sequential(*(Attending(family, weights, place) for place in range(family.layers)))
        self.norm = weights.norm(nn.LayerNorm(family.width), "layer_norm_0")
        self.head = weights.linear("linear_0.weight")

    def forward(self, x: Tensor) -> Tensor:
        h = self.blocks(functional.embedding(x, self.table) + self.positions)
        return self.head(self.norm(h)).transpose(1, 2)


class Reader(nn.Module):
    """PyTorch's encoder with a padding mask, and a linear layer on the mean over all steps."""

    def __init__(self, family: Encoder, weights: Weights) -> None:
        super().__init__()
        self.table, self.positions = weights["embedding_0.weight"], weights["learned_positions_0.weight"]
        layer = nn.TransformerEncoderLayer(
            family.width, family.heads, 4 * family.width, dropout=0.0, batch_first=True, norm_first=True
        )
        norm = nn.LayerNorm(family.width)
        self.encoder = nn.TransformerEncoder(layer, family.layers, norm=norm, enable_nested_tensor=False)
        for name, parameter in self.encoder.named_parameters():
            parameter.data = weights[f"transformer_encoder_0.{name}"].data
        self.head = weights.linear("linear_0.weight")

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        h = functional.embedding(x, self.table) + self.positions
        return self.head(self.encoder(h, src_key_padding_mask=padding).mean(1))


class States(nn.Module):
    """Recurrent layers, and a linear one on the last state, or on all; these have the classes on axis 1."""

    def __init__(self, family: Recurrent, weights: Weights) -> None:
        super().__init__()
        kind = {"lstm": nn.LSTM, "gru": nn.GRU}[family.cell]
        self.cell = kind(family.features, family.units, family.layers, batch_first=True)
        for name, _ in list(self.cell.named_parameters()):
            setattr(self.cell, name, weights[f"{family.cell}_0.{name}"])
        self.head = weights.linear("linear_0.weight")
        self.label_each_step = family.label_each_step

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.cell(x)
        return self.head(states).transpose(1, 2) if self.label_each_step else self.head(states[:, -1])


class Lookup(nn.Module):
    """Rows of a table beside numbers, through linear layers."""

    def __init__(self, family: Tabular, weights: Weights) -> None:
        super().__init__()
        names = [f"table{k}" for k in range(family.categories)] if family.own_tables else ["table"]
        self.tables = nn.ParameterList(weights[name] for name in names)
        self.layers = nn.ModuleList(weights.linear(f"w{k}", f"b{k}") for k in range(len(family.widths)))

    def forward(self, x: Tensor, numbers: Tensor) -> Tensor:
        columns = [x] if len(self.tables) == 1 else x.unbind(1)
        looked_up = [functional.embedding(index, table) for index, table in zip(columns, self.tables, strict=True)]
        h = torch.cat([*(rows.flatten(1) for rows in looked_up), numbers], 1)
        *hidden, last = self.layers
        for layer in hidden:
            h = functional.relu(layer(h))
        return last(h)


def _vocabulary(_family: Vocabulary, weights: Weights) -> nn.Module:
    table = nn.Embedding.from_pretrained(weights["embedding_0.weight"], freeze=False)
    first, last = weights.linear("linear_0.weight"), weights.linear("linear_1.weight")
    return nn.Sequential(table, nn.Flatten(), first, nn.ReLU(), last)


class Ratings(nn.Module):
    """Products of users' and items' factors, and their biases."""

    def __init__(self, family: Factors, weights: Weights) -> None:
        super().__init__()
        self.users, self.items = weights["users"], weights["items"]
        self.user_bias, self.item_bias = weights["user_bias"], weights["item_bias"]

    def forward(self, x: Tensor) -> Tensor:
        user, item = x[:, 0], x[:, 1]
        product = (functional.embedding(user, self.users) * functional.embedding(item, self.items)).sum(1)
        biases = functional.embedding(user, self.user_bias) + functional.embedding(item, self.item_bias)
        return product + biases[:, 0]


def _discriminator(family: Discriminator, weights: Weights) -> nn.Module:
    layers: list[nn.Module] = []
    for place, channels in enumerate(family.channels):
        layers.append(weights.convolution(f"conv2d_{place}", 2, kernel=4))
        if place:
            layers.append(weights.norm(nn.GroupNorm(family.groups, channels), f"group_norm_{place - 1}"))
        layers.append(nn.LeakyReLU(0.2))
    return nn.Sequential(*layers, nn.Flatten(), weights.linear("linear_0.weight"))


class Patches(Named):
    """Blocks of depthwise convolutions and linear layers over the channels."""

    def __init__(self, family: ConvNext, weights: Weights) -> None:
        kinds = ("depth", "depth_bias", "norm", "norm_bias", "up", "up_bias", "down", "down_bias", "scale")
        blocks = [f"{kind}{k}" for k in range(family.blocks) for kind in kinds]
        super().__init__(weights, ["stem", "stem_bias", "head", "head_bias", *blocks])
        self.channels, self.blocks = family.channels, family.blocks

    def forward(self, x: Tensor) -> Tensor:
        w = self.of
        h = functional.conv2d(x, w["stem"], w["stem_bias"], stride=4)
        for k in range(self.blocks):
            a = functional.conv2d(h, w[f"depth{k}"], w[f"depth_bias{k}"], padding=3, groups=self.channels)
            a = functional.layer_norm(a.permute(0, 2, 3, 1), (self.channels,), w[f"norm{k}"], w[f"norm_bias{k}"])
            b = functional.gelu(functional.linear(a, w[f"up{k}"], w[f"up_bias{k}"]))
            c = functional.linear(b, w[f"down{k}"], w[f"down_bias{k}"]) * w[f"scale{k}"]
            h = h + c.permute(0, 3, 1, 2)
        return functional.linear(h.mean((2, 3)), w["head"], w["head_bias"])


class Clicks(Named):
    """A factorisation machine and linear layers on its embeddings."""

    def __init__(self, family: FactorizationMachine, weights: Weights) -> None:
        self.depth = len(family.widths)
        layers = [f"{kind}{place}" for place in range(self.depth) for kind in "wb"]
        super().__init__(weights, ["table", "table_weight", "bias", *layers])

    def forward(self, x: Tensor) -> Tensor:
        w = self.of
        v = functional.embedding(x, w["table"])
        total = v.sum(1)
        pairs = 0.5 * (total * total - (v * v).sum(1)).sum(1)
        h = v.flatten(1)
        for place in range(self.depth):
            h = functional.linear(h, w[f"w{place}"], w[f"b{place}"])
            h = h if place == self.depth - 1 else functional.relu(h)
        return functional.embedding(x, w["table_weight"]).sum((1, 2)) + pairs + h[:, 0] + w["bias"]


class Sounds(nn.Module):
    """A convolution and a GRU: log-probabilities [steps, rows, letters], and how many letters there are."""

    def __init__(self, family: Recogniser, weights: Weights) -> None:
        super().__init__()
        self.kernel, self.bias = weights["conv1d_0.weight"], weights["conv1d_0.bias"]
        self.cell = nn.GRU(family.channels, family.units)
        for name, _ in list(self.cell.named_parameters()):
            setattr(self.cell, name, weights[f"gru_0.{name}"])
        self.head = weights.linear("linear_0.weight")

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        h = functional.relu(functional.conv1d(x, self.kernel, self.bias, padding=1))
        states, _ = self.cell(h.permute(2, 0, 1))
        return functional.log_softmax(self.head(states), -1), lengths


class Views(Named):
    """Linear layers on views [rows, 2, features]: the similarity of each to all others [rows, all views, 2]."""

    def __init__(self, family: Contrastive, weights: Weights) -> None:
        self.depth = len(family.widths) - 1
        super().__init__(weights, [f"{kind}{place}" for place in range(self.depth) for kind in "wb"])
        self.temperature = family.temperature
        self.itself = torch.eye(2 * family.rows, dtype=torch.bool)

    def forward(self, x: Tensor) -> Tensor:
        h = x.flatten(0, 1)
        for place in range(self.depth):
            h = functional.linear(h, self.of[f"w{place}"], self.of[f"b{place}"])
            h = h if place == self.depth - 1 else functional.relu(h)
        z = functional.normalize(h, dim=1)
        scores = (z @ z.T / self.temperature).masked_fill(self.itself, -1e9)
        return scores.view(*x.shape[:2], -1).transpose(1, 2)


class Pixels(Named):
    """A U-Net."""

    def __init__(self, family: Segmenter, weights: Weights) -> None:
        super().__init__(weights, [name + kind for name in family.convolutions() for kind in ("", "_bias")])

    def forward(self, x: Tensor) -> Tensor:
        a = functional.relu(self._convolved("down0", x))
        b = functional.relu(self._convolved("down1", functional.max_pool2d(a, 2)))
        c = functional.relu(self._convolved("bottom", functional.max_pool2d(b, 2)))
        d = functional.relu(self._convolved("up1", self._joined(c, b)))
        e = functional.relu(self._convolved("up0", self._joined(d, a)))
        return self._convolved("head", e)

    def _convolved(self, name: str, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.of[name], self.of[f"{name}_bias"], padding=1)

    @staticmethod
    def _joined(x: Tensor, beside: Tensor) -> Tensor:
        return torch.cat([functional.interpolate(x, scale_factor=2, mode="bilinear"), beside], 1)
