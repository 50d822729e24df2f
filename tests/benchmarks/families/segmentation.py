"""Networks with a class for each pixel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tests.benchmarks.families.shared import OF_DATA, WITHIN, Columns, Graph, Loss


@dataclass(frozen=True)
class Segmenter:
    """A U-Net of two levels: max pooling down, bilinear resampling up, beside what was there before; kernels of 3."""

    channels: tuple[int, int, int] = (16, 32, 64)
    size: int = 32
    classes: int = 4

    loss: ClassVar[Loss] = "cross_entropy"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw images of three channels, and a label for each pixel."""
        return {
            "x": rng.standard_normal((rows, 3, self.size, self.size)),
            "label": rng.integers(0, self.classes, (rows, self.size, self.size)),
        }

    def convolutions(self) -> dict[str, tuple[int, int, int]]:
        """Return input and output channels of each convolution, and the size of its images."""
        first, second, third = self.channels
        whole, half, quarter = self.size, self.size // 2, self.size // 4
        return {
            "down0": (3, first, whole), "down1": (first, second, half), "bottom": (second, third, quarter),
            "up1": (third + second, second, half), "up0": (second + first, first, whole),
            "head": (first, self.classes, whole),
        }  # fmt: skip

    def graph(self) -> Graph:
        """Return the graph document."""
        parameters: dict[str, Any] = {}
        for name, (before, after, _) in self.convolutions().items():
            parameters |= {name: [after, before, 3, 3], f"{name}_bias": [after]}

        def convolved(name: str, of: str) -> str:
            return f"conv2d({of}, {name}, {name}_bias, padding=1)"

        def joined(of: str, beside: str) -> str:
            return f"concat(interpolate({of}, scale=2, mode='bilinear'), {beside}, axis=1)"

        lines = [
            f"a = relu({convolved('down0', 'x')})",
            f"b = relu({convolved('down1', 'max_pool2d(a, kernel=2)')})",
            f"c = relu({convolved('bottom', 'max_pool2d(b, kernel=2)')})",
            f"d = relu({convolved('up1', joined('c', 'b'))})",
            f"e = relu({convolved('up0', joined('d', 'a'))})",
            f"loss = cross_entropy({convolved('head', 'e')}, label)",
        ]
        inputs = {
            "x": ["batch", 3, self.size, self.size],
            "label": {"shape": ["batch", self.size, self.size], "dtype": "int64"},
        }
        return {"inputs": inputs, "parameters": parameters, "program": "\n".join(lines)}

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products."""
        total = 0
        for place, (before, after, size) in enumerate(self.convolutions().values()):
            total += 2 * rows * size * size * 9 * before * after * (WITHIN if place else OF_DATA)
        return total
