"""A CSV file cut into rows to learn from and rows to be tested on."""

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Split:
    """Two CSV files, and the tested rows once more as features and labels (the text of the last column)."""

    training: Path
    held_out: Path
    features: NDArray[np.float32]
    labels: list[str]


def split_csv(source: Path, share: float, seed: int, folder: Path) -> Split:
    """Put a `share` of the rows of `source`, picked by `seed`, into one file in `folder` and the rest into another."""
    header, *rows = source.read_text("utf-8").splitlines()
    random.Random(seed).shuffle(rows)  # noqa: S311 (the same rows each time, no secret)
    count = round(len(rows) * share)
    cells = [row.split(",") for row in rows[:count]]
    return Split(
        training=_write(folder / f"{source.stem}-training.csv", [header, *rows[count:]]),
        held_out=_write(folder / f"{source.stem}-held-out.csv", [header, *rows[:count]]),
        features=np.array([row[:-1] for row in cells], np.float32),
        labels=[row[-1] for row in cells],
    )


def _write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
