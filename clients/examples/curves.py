"""The loss curves of a fit as an SVG file that is the same each time it is drawn."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adjoint_client import MetricRow

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ModuleNotFoundError:  # the extra `examples` is not installed; everything but the picture works
    drawable = False
else:
    drawable = True

POINTS = 120
"""The training curve is drawn as this many means of neighbouring steps at most: single steps are noise."""


def draw_curves(rows: Sequence[MetricRow], name: str, folder: Path) -> Path | None:
    """Write the training and the validation loss by step to `folder`/`name`.svg; None without matplotlib."""
    if not drawable:
        return None
    # Text stays text and ids are counted from a fixed salt: small, and no byte depends on the day or the run.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure = Figure(figsize=(6, 3.5), layout="constrained")
        axes = figure.add_subplot()
        axes.plot(*thinned(*losses(rows, "train")), label="training", linewidth=1)
        axes.plot(*losses(rows, "validation"), label="validation", linewidth=1.5, marker=".", markersize=3)
        axes.set(title=name, xlabel="step", ylabel="loss")
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None, "Creator": None})
    return path


def losses(rows: Sequence[MetricRow], split: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps and losses of one split."""
    found = [(row.step, row.values["loss"]) for row in rows if row.split == split and "loss" in row.values]
    steps, values = np.array(found, np.float64).reshape(-1, 2).T
    return steps, values


def thinned(steps: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means of `POINTS` groups of neighbours; what is shorter stays as it is."""
    groups = min(POINTS, len(steps))
    if groups == 0:
        return steps, values
    means = [[part.mean() for part in np.array_split(curve, groups)] for curve in (steps, values)]
    return np.array(means[0]), np.array(means[1])
