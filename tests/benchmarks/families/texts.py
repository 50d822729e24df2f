"""Models of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tests.benchmarks.families.shared import WITHIN, Columns, Graph, Loss, of_layers


@dataclass(frozen=True)
class Vocabulary:
    """A language model of linear layers: the embeddings of the words before, side by side, and a score per word."""

    words: int = 8000
    before: int = 4
    units: int = 64
    hidden: int = 128

    loss: ClassVar[Loss] = "cross_entropy"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw words, and the word that follows each few."""
        return {
            "x": rng.integers(0, self.words, (rows, self.before)),
            "label": rng.integers(0, self.words, rows),
        }

    def graph(self) -> Graph:
        """Return the graph document."""
        layers = [
            {"layer": "embedding", "rows": self.words, "units": self.units},
            "flatten",
            {"layer": "linear", "units": self.hidden},
            "relu",
            {"layer": "linear", "units": self.words},
        ]
        return of_layers({"x": {"shape": ["batch", self.before], "dtype": "int64"}}, layers)

    def flops(self, rows: int) -> int:
        """Count the operations of a step's matrix products."""
        return WITHIN * 2 * rows * self.hidden * (self.before * self.units + self.words)
