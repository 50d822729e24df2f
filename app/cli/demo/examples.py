"""What the demo trains: data, how to read and to split them, and how to fit."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.cli.demo import graph_path


@dataclass(frozen=True, slots=True)
class Example:
    """One task to learn.

    `columns` selects and groups the columns of the CSV file, features first; `held_out` is the share of the rows that
    is kept for the test; `enough` the accuracy on them that shows that all is well; `fields` are those of the fit.
    """

    name: str
    columns: str
    feature_shape: tuple[int, ...]
    held_out: float
    split_seed: int
    enough: float
    fields: Mapping[str, Any]

    def graph(self) -> dict[str, Any]:
        """The graph that learns it."""
        document: dict[str, Any] = json.loads(graph_path(self.name).read_text("utf-8"))
        return document


EXAMPLES = (
    Example(
        name="iris",
        columns="flower:float32[4]=sepal_length..petal_width,species:class",
        feature_shape=(4,),
        held_out=0.3,
        split_seed=3,
        enough=0.93,
        fields={
            "optimizer": {"kind": "adam", "lr": 0.02},
            "epochs": 40,
            "batch_size": 16,
            "metrics": ["accuracy"],
        },
    ),
    Example(
        name="digits",
        columns="image:float32[1,8,8]=pixel_0_0..pixel_7_7,digit:int64",
        feature_shape=(1, 8, 8),
        held_out=0.2,
        split_seed=1,
        enough=0.97,
        fields={
            "optimizer": {"kind": "adamw", "lr": 0.002},
            "schedule": {"kind": "cosine", "t_max": 12},
            "epochs": 12,
            "batch_size": 64,
            "metrics": ["accuracy"],
        },
    ),
)
