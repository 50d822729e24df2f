"""The shapes of models that are trained: each draws its rows, says what graph it is and counts its multiplications.

NumPy only: contenders of every library read their model from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Columns = dict[str, Array]
Graph = dict[str, Any]

LABEL = {"shape": ["batch"], "dtype": "int64"}

# A product of a step is computed forward, for the gradient of its weight and, unless its input is data, of its input.
OF_DATA, WITHIN = 2, 3


@dataclass(frozen=True)
class Mlp:
    """Linear layers with ReLU between them, and cross entropy."""

    widths: tuple[int, ...]

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw inputs, and labels that a linear map tells."""
        x = rng.standard_normal((rows, self.widths[0]))
        return {"x": x, "label": (x @ rng.standard_normal((self.widths[0], self.widths[-1]))).argmax(axis=1)}

    def graph(self) -> Graph:
        """Return the graph document."""
        *hidden, last = self.widths[1:]
        layers: list[Any] = [{"layer": "linear", "units": width, "activation": "relu"} for width in hidden]
        return _of_layers({"x": ["batch", self.widths[0]]}, [*layers, {"layer": "linear", "units": last}])

    def flops(self, rows: int) -> int:
        """Count the operations of a step's matrix products."""
        pairs = list(zip(self.widths, self.widths[1:], strict=False))
        return sum(2 * rows * a * b * (WITHIN if place else OF_DATA) for place, (a, b) in enumerate(pairs))


@dataclass(frozen=True)
class ConvNet:
    """Convolutions of kernel 3 with ReLU and max pooling of 2, then one linear layer."""

    channels: tuple[int, ...] = (16, 32)
    size: int = 28
    classes: int = 10

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
        return _of_layers({"x": ["batch", 1, self.size, self.size]}, layers)

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
        return _of_layers({"x": ["batch", 3, self.size, self.size]}, layers)

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products."""
        total, size, before = 0, self.size, 3
        for place, channels in enumerate(self.channels):
            size = size // 2 if place else size
            total += 2 * size * size * 9 * channels * (before * (WITHIN if place else OF_DATA) + 2 * channels * WITHIN)
            before = channels
        return rows * (total + 2 * before * self.classes * WITHIN)


@dataclass(frozen=True)
class Transformer:
    """A causal transformer over characters: norm first, tanh-approximated GELU, learnt positions."""

    steps: int = 64
    width: int = 128
    heads: int = 4
    layers: int = 4
    characters: int = 96

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw texts, and the characters that follow."""
        text = rng.integers(0, self.characters, (rows, self.steps + 1))
        return {"x": np.ascontiguousarray(text[:, :-1]), "label": np.ascontiguousarray(text[:, 1:])}

    def graph(self) -> Graph:
        """Return the graph document."""
        attention = {"layer": "multi_head_attention", "heads": self.heads, "causal": True}
        up, down = ({"layer": "linear", "units": units} for units in (4 * self.width, self.width))
        block: list[Any] = [
            {"layer": "residual", "layers": ["layer_norm", attention]},
            {"layer": "residual", "layers": ["layer_norm", up, {"layer": "gelu", "approximate": "tanh"}, down]},
        ]
        first = [{"layer": "embedding", "rows": self.characters, "units": self.width}, "learned_positions"]
        # The loss takes classes on axis 1.
        last = ["layer_norm", {"layer": "linear", "units": self.characters}, {"layer": "permute", "axes": [0, 2, 1]}]
        text = {"shape": ["batch", self.steps], "dtype": "int64"}
        graph = _of_layers({"x": text}, [*first, *block * self.layers, *last])
        return {**graph, "inputs": {"x": text, "label": text}}

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products; of the scores only those that causality leaves."""
        tokens, width = rows * self.steps, self.width
        scores = 4 * tokens * width * (self.steps + 1) // 2
        return WITHIN * (self.layers * (2 * tokens * 12 * width**2 + scores) + 2 * tokens * width * self.characters)


@dataclass(frozen=True)
class Recurrent:
    """One recurrent layer over a sequence, and a linear layer on its last state."""

    cell: Literal["lstm", "gru"]
    steps: int = 32
    features: int = 32
    units: int = 128
    classes: int = 10

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw sequences, and labels."""
        return {
            "x": rng.standard_normal((rows, self.steps, self.features)),
            "label": rng.integers(0, self.classes, rows),
        }

    def graph(self) -> Graph:
        """Return the graph document."""
        cell = {"layer": self.cell, "units": self.units, "result": "last"}
        return _of_layers(
            {"x": ["batch", self.steps, self.features]}, [cell, {"layer": "linear", "units": self.classes}]
        )

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products."""
        gates = {"lstm": 4, "gru": 3}[self.cell] * self.units
        cells = 2 * rows * self.steps * gates * (self.features * OF_DATA + self.units * WITHIN)
        return cells + 2 * rows * self.units * self.classes * WITHIN


@dataclass(frozen=True)
class Tabular:
    """Categories looked up in one table, beside numbers, into linear layers with ReLU."""

    categories: int = 8
    rows: int = 8000
    units: int = 16
    numbers: int = 16
    widths: tuple[int, ...] = (256, 128, 2)

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw categories (each has its share of the table), numbers, and labels."""
        share = self.rows // self.categories
        drawn = rng.integers(0, share, (rows, self.categories)) + np.arange(self.categories) * share
        return {
            "x": drawn,
            "numbers": rng.standard_normal((rows, self.numbers)),
            "label": rng.integers(0, self.widths[-1], rows),
        }

    def graph(self) -> Graph:
        """Return the graph document."""
        widths = (self.categories * self.units + self.numbers, *self.widths)
        parameters: dict[str, Any] = {"table": [self.rows, self.units]}
        lines = ["h0 = concat(flatten(embedding(table, x), start=1), numbers, axis=1)"]
        for place, (before, after) in enumerate(zip(widths, self.widths, strict=False)):
            parameters |= {f"w{place}": [after, before], f"b{place}": [after]}
            made = f"linear(h{place}, w{place}, b{place})"
            lines.append(f"h{place + 1} = {made if place == len(self.widths) - 1 else f'relu({made})'}")
        lines.append(f"loss = cross_entropy(h{len(self.widths)}, label)")
        return {
            "inputs": {
                "x": {"shape": ["batch", self.categories], "dtype": "int64"},
                "numbers": ["batch", self.numbers],
                "label": LABEL,
            },
            "parameters": parameters,
            "program": "\n".join(lines),
        }

    def flops(self, rows: int) -> int:
        """Count the operations of a step's matrix products."""
        looked_up = self.categories * self.units
        first = self.widths[0] * (looked_up * WITHIN + self.numbers * OF_DATA)
        rest = sum(a * b * WITHIN for a, b in zip(self.widths, self.widths[1:], strict=False))
        return 2 * rows * (first + rest)


Family = Mlp | ConvNet | ResidualNet | Transformer | Recurrent | Tabular


def _of_layers(inputs: Graph, layers: list[Any]) -> Graph:
    return {"inputs": {**inputs, "label": LABEL}, "layers": layers, "loss": "cross_entropy"}


def _convolution(channels: int, **options: Any) -> Graph:
    return {"layer": "conv2d", "channels": channels, "kernel": 3, "padding": 1, **options}
