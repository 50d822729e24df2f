"""Convolutional networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tests.benchmarks.families.shared import OF_DATA, WITHIN, Columns, Graph, Loss, of_layers


@dataclass(frozen=True)
class ConvNet:
    """Convolutions of kernel 3 with ReLU and max pooling of 2, then one linear layer."""

    channels: tuple[int, ...] = (16, 32)
    size: int = 28
    classes: int = 10

    loss: ClassVar[Loss] = "cross_entropy"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw images of one channel, and labels."""
        return {
            "x": rng.standard_normal((rows, 1, self.size, self.size)),
            "label": rng.integers(0, self.classes, rows),
        }

    def graph(self) -> Graph:
        """Return the graph document."""
        layers: list[Any] = []
        for channels in self.channels:
            layers += [_convolution(channels, activation="relu"), {"layer": "max_pool2d", "kernel": 2}]
        layers += ["flatten", {"layer": "linear", "units": self.classes}]
        return of_layers({"x": ["batch", 1, self.size, self.size]}, layers)

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products."""
        total, size, before = 0, self.size, 1
        for place, channels in enumerate(self.channels):
            total += 2 * size * size * 9 * before * channels * (WITHIN if place else OF_DATA)
            size, before = size // 2, channels
        return rows * (total + 2 * size * size * before * self.classes * WITHIN)


@dataclass(frozen=True)
class ResidualNet:
    """Stages of a convolution and a residual block of two, all with batch norm; later stages halve the image."""

    channels: tuple[int, ...] = (16, 32)
    size: int = 32
    classes: int = 10

    loss: ClassVar[Loss] = "cross_entropy"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw images of three channels, and labels."""
        return {
            "x": rng.standard_normal((rows, 3, self.size, self.size)),
            "label": rng.integers(0, self.classes, rows),
        }

    def graph(self) -> Graph:
        """Return the graph document."""
        layers: list[Any] = []
        for place, channels in enumerate(self.channels):
            inner = _convolution(channels, bias=False)
            block = [inner, "batch_norm", "relu", inner, "batch_norm"]
            layers += [_convolution(channels, bias=False, stride=2 if place else 1), "batch_norm", "relu"]
            layers += [{"layer": "residual", "layers": block}, "relu"]
        layers += ["global_avg_pool", {"layer": "linear", "units": self.classes}]
        return of_layers({"x": ["batch", 3, self.size, self.size]}, layers)

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products."""
        total, size, before = 0, self.size, 3
        for place, channels in enumerate(self.channels):
            size = size // 2 if place else size
            total += 2 * size * size * 9 * channels * (before * (WITHIN if place else OF_DATA) + 2 * channels * WITHIN)
            before = channels
        return rows * (total + 2 * before * self.classes * WITHIN)


@dataclass(frozen=True)
class SeparableNet:
    """Blocks of a convolution of each channel by itself and one of kernel 1, all with batch norm and ReLU6."""

    stem: int = 32
    blocks: tuple[tuple[int, int], ...] = ((64, 1), (64, 1), (128, 2))
    """Channels and stride of each."""
    size: int = 32
    classes: int = 10

    loss: ClassVar[Loss] = "cross_entropy"

    def convolutions(self) -> list[tuple[int, int, int]]:
        """Return the channels before, the kernel and the stride of each convolution."""
        found, before = [(3, 3, 2)], self.stem
        for channels, stride in self.blocks:
            found += [(before, 3, stride), (before, 1, 1)]
            before = channels
        return found

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw images of three channels, and labels."""
        return {
            "x": rng.standard_normal((rows, 3, self.size, self.size)),
            "label": rng.integers(0, self.classes, rows),
        }

    def graph(self) -> Graph:
        """Return the graph document."""
        layers: list[Any] = [_convolution(self.stem, bias=False, stride=2), "batch_norm", "relu6"]
        before = self.stem
        for channels, stride in self.blocks:
            layers += [_convolution(before, bias=False, stride=stride, groups=before), "batch_norm", "relu6"]
            layers += [{"layer": "conv2d", "channels": channels, "kernel": 1, "bias": False}, "batch_norm", "relu6"]
            before = channels
        layers += ["global_avg_pool", {"layer": "linear", "units": self.classes}]
        return of_layers({"x": ["batch", 3, self.size, self.size]}, layers)

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products."""
        size, before = self.size // 2, self.stem
        total = size * size * 9 * 3 * self.stem * OF_DATA
        for channels, stride in self.blocks:
            size //= stride
            total += size * size * before * (9 + channels) * WITHIN
            before = channels
        return 2 * rows * (total + before * self.classes * WITHIN)


@dataclass(frozen=True)
class Autoencoder:
    """Convolutions of kernel 3 and stride 2 with ReLU, transposed ones back to the image, and the squared error."""

    channels: tuple[int, ...] = (16, 32)
    size: int = 28

    loss: ClassVar[Loss] = "mse"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw images of one channel, which are the targets too."""
        x = rng.standard_normal((rows, 1, self.size, self.size))
        return {"x": x, "label": x}

    def graph(self) -> Graph:
        """Return the graph document."""
        halved = {"kernel": 3, "stride": 2, "padding": 1}
        down = [{"layer": "conv2d", "channels": channels, **halved} for channels in self.channels]
        up = [
            {"layer": "conv_transpose2d", "channels": channels, "output_padding": 1, **halved}
            for channels in (*self.channels[-2::-1], 1)
        ]
        layers = [entry for convolution in (*down, *up) for entry in (convolution, "relu")]
        image = ["batch", 1, self.size, self.size]
        return of_layers({"x": image, "label": image}, layers[:-1], self.loss)

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products; a transposed convolution has those of the one it mirrors."""
        total, size, before = 0, self.size, 1
        for place, channels in enumerate(self.channels):
            size //= 2
            total += 2 * size * size * 9 * before * channels * (WITHIN + (WITHIN if place else OF_DATA))
            before = channels
        return rows * total


def _convolution(channels: int, **options: Any) -> Graph:
    return {"layer": "conv2d", "channels": channels, "kernel": 3, "padding": 1, **options}
