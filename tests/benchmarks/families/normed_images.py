"""Convolutional networks whose norms are those of each image, not of the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tests.benchmarks.families.shared import LABEL, OF_DATA, WITHIN, Columns, Graph, Loss, of_layers


@dataclass(frozen=True)
class ConvNext:
    """Blocks of a depthwise convolution of kernel 7, layer norm over channels, two linear layers with GELU, a scale."""

    channels: int = 32
    blocks: int = 2
    size: int = 64
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
        c, ones = self.channels, {"shape": [self.channels], "init": {"kind": "ones"}}
        parameters: dict[str, Any] = {"stem": [c, 3, 4, 4], "stem_bias": [c], "head": [self.classes, c]}
        parameters["head_bias"] = [self.classes]
        lines = ["h0 = conv2d(x, stem, stem_bias, stride=4)"]
        for k in range(self.blocks):
            parameters |= {f"depth{k}": [c, 1, 7, 7], f"depth_bias{k}": [c], f"norm{k}": ones, f"norm_bias{k}": [c]}
            parameters |= {f"up{k}": [4 * c, c], f"up_bias{k}": [4 * c], f"down{k}": [c, 4 * c], f"down_bias{k}": [c]}
            parameters[f"scale{k}"] = ones
            lines += [
                f"a{k} = permute(conv2d(h{k}, depth{k}, depth_bias{k}, padding=3, groups={c}), axes=[0, 2, 3, 1])",
                f"b{k} = gelu(linear(layer_norm(a{k}, norm{k}, norm_bias{k}), up{k}, up_bias{k}))",
                f"c{k} = linear(b{k}, down{k}, down_bias{k}) * scale{k}",
                f"h{k + 1} = h{k} + permute(c{k}, axes=[0, 3, 1, 2])",
            ]
        lines.append(f"loss = cross_entropy(linear(mean(h{self.blocks}, axis=[2, 3]), head, head_bias), label)")
        inputs = {"x": ["batch", 3, self.size, self.size], "label": LABEL}
        return {"inputs": inputs, "parameters": parameters, "program": "\n".join(lines)}

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products."""
        c, places = self.channels, rows * (self.size // 4) ** 2
        block = places * c * (49 + 8 * c) * WITHIN
        return 2 * (places * 48 * c * OF_DATA + self.blocks * block + rows * c * self.classes * WITHIN)


@dataclass(frozen=True)
class Discriminator:
    """Convolutions of kernel 4 and stride 2 with leaky ReLU, group norm before it after the first; real or not."""

    channels: tuple[int, ...] = (16, 32, 64)
    size: int = 32
    groups: int = 4

    loss: ClassVar[Loss] = "binary_cross_entropy_with_logits"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw images of three channels, and whether each is real."""
        return {
            "x": rng.standard_normal((rows, 3, self.size, self.size)),
            "label": rng.integers(0, 2, (rows, 1)).astype(np.float64),
        }

    def graph(self) -> Graph:
        """Return the graph document."""
        layers: list[Any] = []
        for place, channels in enumerate(self.channels):
            layers.append({"layer": "conv2d", "channels": channels, "kernel": 4, "stride": 2, "padding": 1})
            layers += [{"layer": "group_norm", "groups": self.groups}] * (place > 0)
            layers.append({"layer": "leaky_relu", "slope": 0.2})
        inputs = {"x": ["batch", 3, self.size, self.size], "label": ["batch", 1]}
        return of_layers(inputs, [*layers, "flatten", {"layer": "linear", "units": 1}], self.loss)

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products."""
        total, size, before = 0, self.size, 3
        for place, channels in enumerate(self.channels):
            size //= 2
            total += size * size * 16 * before * channels * (WITHIN if place else OF_DATA)
            before = channels
        return 2 * rows * (total + size * size * before * WITHIN)
