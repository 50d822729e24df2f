"""Rows of a table: read from a CSV file, and parted into those to learn from and those held out."""

import csv
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

EXAMPLES = Path(__file__).parent
DATA = EXAMPLES / "data"
DEMO = EXAMPLES.parents[1] / "app" / "cli" / "demo"

Floats = NDArray[np.float32]


class Table:
    """The features of a CSV file, all columns but the last, and the text of the last one."""

    def __init__(self, features: Floats, targets: list[str]) -> None:
        self.features = features
        self.targets = targets

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file with a header row."""
        with path.open(encoding="utf-8", newline="") as file:
            _, *cells = csv.reader(file)
        return cls(np.array([row[:-1] for row in cells], np.float32), [row[-1] for row in cells])

    def classes(self) -> NDArray[np.int64]:
        """The targets as class numbers, in the order of their names."""
        return np.unique(self.targets, return_inverse=True)[1].astype(np.int64)

    def numbers(self) -> Floats:
        """The targets as numbers."""
        return np.array(self.targets, np.float32)


def part(rows: int, held_out: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers to learn from and, picked by `seed`, as many as `held_out` to be tested on."""
    order = np.random.default_rng(seed).permutation(rows)
    return order[held_out:], order[:held_out]


def accuracy(scores: NDArray[Any], classes: NDArray[np.int64]) -> float:
    """The share of rows whose highest score is that of their class."""
    return float(np.mean(scores.argmax(axis=1) == classes))
