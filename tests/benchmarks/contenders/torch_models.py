"""The models in PyTorch, with given weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

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


def module(family: Family, weights: Columns) -> nn.Module:
    """Return the model."""
    makes: dict[type, Callable[[Any, Weights], nn.Module]] = {
        Mlp: _mlp,
        ConvNet: _conv_net,
        ResidualNet: _residual_net,
        Transformer: Characters,
        Recurrent: LastState,
        Tabular: Lookup,
    }
    return makes[type(family)](family, Weights(weights))


class Weights:
    """Layers by the names of their weights."""

    def __init__(self, arrays: Columns) -> None:
        self._arrays = arrays

    def __getitem__(self, name: str) -> nn.Parameter:
        return nn.Parameter(torch.from_numpy(self._arrays[name].copy()))

    def linear(self, weight: str, bias: str = "") -> nn.Linear:
        made = self[weight]
        layer = nn.Linear(made.shape[1], made.shape[0], dtype=made.dtype)
        layer.weight, layer.bias = made, self[bias or weight.replace("weight", "bias")]
        return layer

    def norm(self, layer: nn.BatchNorm2d | nn.LayerNorm, name: str) -> nn.Module:
        layer.weight, layer.bias = self[f"{name}.weight"], self[f"{name}.bias"]
        return layer

    def convolution(self, name: str, stride: int = 1, *, bias: bool = True) -> nn.Conv2d:
        made = self[f"{name}.weight"]
        layer = nn.Conv2d(made.shape[1], made.shape[0], 3, stride=stride, padding=1, bias=bias)
        layer.weight = made
        if bias:
            layer.bias = self[f"{name}.bias"]
        return layer

    def batch_norm(self, name: str) -> nn.Module:
        return self.norm(nn.BatchNorm2d(self._arrays[f"{name}.weight"].shape[0]), name)


def _mlp(family: Mlp, weights: Weights) -> nn.Module:
    layers: list[nn.Module] = []
    for place in range(len(family.widths) - 1):
        layers += [weights.linear(f"linear_{place}.weight"), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


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


class LastState(nn.Module):
    """A recurrent layer, and a linear one on its last state."""

    def __init__(self, family: Recurrent, weights: Weights) -> None:
        super().__init__()
        kind = {"lstm": nn.LSTM, "gru": nn.GRU}[family.cell]
        self.cell = kind(family.features, family.units, batch_first=True)
        for name, _ in list(self.cell.named_parameters()):
            setattr(self.cell, name, weights[f"{family.cell}_0.{name}"])
        self.head = weights.linear("linear_0.weight")

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.cell(x)
        return self.head(states[:, -1])


class Lookup(nn.Module):
    """Rows of a table beside numbers, through linear layers."""

    def __init__(self, family: Tabular, weights: Weights) -> None:
        super().__init__()
        self.table = weights["table"]
        self.layers = nn.ModuleList(weights.linear(f"w{k}", f"b{k}") for k in range(len(family.widths)))

    def forward(self, x: Tensor, numbers: Tensor) -> Tensor:
        h = torch.cat([functional.embedding(x, self.table).flatten(1), numbers], 1)
        *hidden, last = self.layers
        for layer in hidden:
            h = functional.relu(layer(h))
        return last(h)
