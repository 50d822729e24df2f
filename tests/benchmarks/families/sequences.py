"""Recurrent networks and transformers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tests.benchmarks.families.shared import LABEL, OF_DATA, WITHIN, Columns, Graph, Loss, of_layers


@dataclass(frozen=True)
class Recurrent:
    """Recurrent layers over a sequence, and a linear layer on the last state, or on all if a `label_each_step`."""

    cell: Literal["lstm", "gru"]
    steps: int = 32
    features: int = 32
    units: int = 128
    classes: int = 10
    layers: int = 1
    label_each_step: bool = False

    loss: ClassVar[Loss] = "cross_entropy"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw sequences, and labels."""
        labels = (rows, self.steps) if self.label_each_step else (rows,)
        return {
            "x": rng.standard_normal((rows, self.steps, self.features)),
            "label": rng.integers(0, self.classes, labels),
        }

    def graph(self) -> Graph:
        """Return the graph document."""
        x = {"x": ["batch", self.steps, self.features]}
        cell = {"layer": self.cell, "units": self.units, "layers": self.layers}
        head = {"layer": "linear", "units": self.classes}
        if not self.label_each_step:
            return of_layers(x, [{**cell, "result": "last"}, head])
        label = {"shape": ["batch", self.steps], "dtype": "int64"}
        # The loss takes classes on axis 1.
        return of_layers({**x, "label": label}, [cell, head, {"layer": "permute", "axes": [0, 2, 1]}])

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products."""
        gates = {"lstm": 4, "gru": 3}[self.cell] * self.units
        first = self.features * OF_DATA + self.units * WITHIN
        cells = 2 * rows * self.steps * gates * (first + (self.layers - 1) * 2 * self.units * WITHIN)
        heads = self.steps if self.label_each_step else 1
        return cells + 2 * rows * heads * self.units * self.classes * WITHIN


@dataclass(frozen=True)
class Transformer:
    """A causal transformer over characters: norm first, tanh-approximated GELU, learnt positions."""

    steps: int = 64
    width: int = 128
    heads: int = 4
    layers: int = 4
    characters: int = 96

    loss: ClassVar[Loss] = "cross_entropy"

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
        return of_layers({"x": text, "label": text}, [*first, *block * self.layers, *last])

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products; of the scores only those that causality leaves."""
        tokens, width = rows * self.steps, self.width
        scores = 4 * tokens * width * (self.steps + 1) // 2
        return WITHIN * (self.layers * (2 * tokens * 12 * width**2 + scores) + 2 * tokens * width * self.characters)


@dataclass(frozen=True)
class Encoder:
    """A transformer encoder over texts of unequal length, norm first; the class is read off the mean of all steps."""

    steps: int = 64
    width: int = 128
    heads: int = 4
    layers: int = 2
    words: int = 1000
    classes: int = 4

    loss: ClassVar[Loss] = "cross_entropy"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw texts, which of their places are padding, and labels."""
        lengths = rng.integers(self.steps // 4, self.steps + 1, rows)
        return {
            "x": rng.integers(0, self.words, (rows, self.steps)),
            "padding": np.arange(self.steps) >= lengths[:, None],
            "label": rng.integers(0, self.classes, rows),
        }

    def graph(self) -> Graph:
        """Return the graph document."""
        stack = {"layer": "transformer_encoder", "heads": self.heads, "layers": self.layers, "width": 4 * self.width}
        layers: list[Any] = [
            {"layer": "embedding", "rows": self.words, "units": self.width},
            "learned_positions",
            {**stack, "dropout": 0, "norm_first": True, "norm": True, "padding_mask": "padding"},
            {"layer": "permute", "axes": [0, 2, 1]},
            "global_avg_pool",
            {"layer": "linear", "units": self.classes},
        ]
        text = ["batch", self.steps]
        inputs = {"x": {"shape": text, "dtype": "int64"}, "padding": {"shape": text, "dtype": "bool"}, "label": LABEL}
        return of_layers(inputs, layers)

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products, padding included."""
        tokens, width = rows * self.steps, self.width
        blocks = 2 * tokens * 12 * width**2 + 4 * tokens * width * self.steps
        return WITHIN * (self.layers * blocks + 2 * rows * width * self.classes)
