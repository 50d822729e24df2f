"""PyTorch's layers with given weights."""

from __future__ import annotations

import torch
from torch import nn

from tests.benchmarks.families import Columns


class Weights:
    """Layers by the names of their weights."""

    def __init__(self, arrays: Columns) -> None:
        self._arrays = arrays

    def __getitem__(self, name: str) -> nn.Parameter:
        return nn.Parameter(torch.from_numpy(self._arrays[name].copy()))

    def linear(self, weight: str, bias: str = "") -> nn.Linear:
        created = self[weight]
        layer = nn.Linear(created.shape[1], created.shape[0], dtype=created.dtype)
        layer.weight, layer.bias = created, self[bias or weight.replace("weight", "bias")]
        return layer

    def norm(self, layer: nn.BatchNorm2d | nn.LayerNorm | nn.GroupNorm, name: str) -> nn.Module:
        layer.weight, layer.bias = self[f"{name}.weight"], self[f"{name}.bias"]
        return layer

    def convolution(
        self, name: str, stride: int = 1, *, bias: bool = True, kernel: int = 3, groups: int = 1
    ) -> nn.Conv2d:
        created = self[f"{name}.weight"]
        channels, padding = (groups * created.shape[1], created.shape[0]), min(kernel // 2, 1)
        layer = nn.Conv2d(*channels, kernel, stride=stride, padding=padding, groups=groups, bias=bias)
        layer.weight = created
        if bias:
            layer.bias = self[f"{name}.bias"]
        return layer

    def transposed(self, name: str) -> nn.ConvTranspose2d:
        created = self[f"{name}.weight"]
        layer = nn.ConvTranspose2d(created.shape[0], created.shape[1], 3, stride=2, padding=1, output_padding=1)
        layer.weight, layer.bias = created, self[f"{name}.bias"]
        return layer

    def batch_norm(self, name: str) -> nn.Module:
        return self.norm(nn.BatchNorm2d(self._arrays[f"{name}.weight"].shape[0]), name)


class Named(nn.Module):
    """Weights by their names."""

    def __init__(self, weights: Weights, names: list[str]) -> None:
        super().__init__()
        self.of = nn.ParameterDict({name: weights[name] for name in names})
