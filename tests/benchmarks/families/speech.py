"""Recognisers of speech."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tests.benchmarks.families.shared import OF_DATA, WITHIN, Columns, Graph, Loss


@dataclass(frozen=True)
class Recogniser:
    """A convolution over features of sound, a GRU, and letters whose places are not known (CTC); the blank is 0."""

    steps: int = 64
    features: int = 40
    channels: int = 64
    units: int = 128
    letters: int = 30
    longest: int = 12

    loss: ClassVar[Loss] = "ctc_loss"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw features, how many letters there are, and letters."""
        return {
            "x": rng.standard_normal((rows, self.features, self.steps)),
            "lengths": rng.integers(4, self.longest + 1, rows),
            "label": rng.integers(1, self.letters, (rows, self.longest)),
        }

    def graph(self) -> Graph:
        """Return the graph document."""
        return {
            "inputs": {
                "x": ["batch", self.features, self.steps],
                "lengths": {"shape": ["batch"], "dtype": "int64"},
                "label": {"shape": ["batch", self.longest], "dtype": "int64"},
            },
            "layers": [
                {"layer": "conv1d", "channels": self.channels, "kernel": 3, "padding": 1, "activation": "relu"},
                {"layer": "permute", "axes": [0, 2, 1]},
                {"layer": "gru", "units": self.units},
                {"layer": "linear", "units": self.letters},
                "log_softmax",
            ],
            "loss": {"kind": self.loss, "target": "label", "target_lengths": "lengths"},
        }

    def flops(self, rows: int) -> int:
        """Count the operations of a step's products."""
        convolved = 3 * self.features * self.channels * OF_DATA
        cell = 3 * self.units * (self.channels + self.units) * WITHIN
        return 2 * rows * self.steps * (convolved + cell + self.units * self.letters * WITHIN)
