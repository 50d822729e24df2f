"""Networks of linear layers, and one layer alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tests.benchmarks.families.shared import OF_DATA, WITHIN, Columns, Graph, Loss, of_layers


@dataclass(frozen=True)
class Mlp:
    """Linear layers with an activation between them, layer norm before it if `norm`, and cross entropy."""

    widths: tuple[int, ...]
    activation: Literal["relu", "tanh"] = "relu"
    norm: bool = False

    loss: ClassVar[Loss] = "cross_entropy"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw inputs, and labels that a linear map gives."""
        x = rng.standard_normal((rows, self.widths[0]))
        return {"x": x, "label": (x @ rng.standard_normal((self.widths[0], self.widths[-1]))).argmax(axis=1)}

    def graph(self) -> Graph:
        """Return the graph document."""
        *hidden, last = self.widths[1:]
        between = ["layer_norm"] * self.norm + [self.activation]
        layers = [entry for width in hidden for entry in ({"layer": "linear", "units": width}, *between)]
        return of_layers({"x": ["batch", self.widths[0]]}, [*layers, {"layer": "linear", "units": last}])

    def flops(self, rows: int) -> int:
        """Count the operations of a step's matrix products."""
        pairs = list(zip(self.widths, self.widths[1:], strict=False))
        return sum(2 * rows * a * b * (WITHIN if place else OF_DATA) for place, (a, b) in enumerate(pairs))


@dataclass(frozen=True)
class Logistic:
    """Logistic regression: one linear layer of one output."""

    features: int

    loss: ClassVar[Loss] = "binary_cross_entropy_with_logits"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw features, and which side of a plane they are on."""
        x = rng.standard_normal((rows, self.features))
        return {"x": x, "label": (x @ rng.standard_normal((self.features, 1)) > 0).astype(np.float64)}

    def graph(self) -> Graph:
        """Return the graph document."""
        inputs = {"x": ["batch", self.features], "label": ["batch", 1]}
        return of_layers(inputs, [{"layer": "linear", "units": 1}], self.loss)

    def flops(self, rows: int) -> int:
        """Count the operations of a step's matrix products."""
        return 2 * rows * self.features * OF_DATA
