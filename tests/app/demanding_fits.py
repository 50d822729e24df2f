"""Fits with a state of more than weights and a step: what a process that goes on with one could get wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

CLASSIFIER: Mapping[str, Any] = {
    "inputs": {"x": ["batch", 6], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [
        {"layer": "linear", "units": 12, "activation": "relu"},
        {"layer": "batch_norm"},
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 3},
    ],
    "loss": {"kind": "cross_entropy", "target": "label"},
}
# It sees four rows at a time.
SERIES: Mapping[str, Any] = {
    **CLASSIFIER,
    "inputs": {"x": ["batch", 4, 6], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "flatten"}, *CLASSIFIER["layers"]],
}
# The square of what it predicts soon overflows when its steps are too long.
REGRESSION: Mapping[str, Any] = {
    "inputs": {"x": ["batch", 6]},
    "parameters": {"w": {"shape": [6], "init": {"kind": "zeros"}}},
    "program": "loss = mean((x @ w - 1.0) ** 2)",
}


@dataclass(frozen=True)
class Demanding:
    """A graph, and what its recipe has beside batches of 16 rows."""

    graph: Mapping[str, Any]
    recipe: Mapping[str, Any]


def too_long_after(epochs: int) -> dict[str, Any]:
    """Return a schedule under which the steps get far too long."""
    return {"kind": "multi_step", "milestones": [epochs], "gamma": 1e6}


DEMANDING: Mapping[str, Demanding] = MappingProxyType(
    {
        "early_stopping": Demanding(
            CLASSIFIER,
            {
                "optimizer": {"kind": "sgd", "lr": 0.1, "momentum": 0.9},
                "validation": {"split": 0.1},
                "early_stopping": {"patience": 3, "restore_best": True},
            },
        ),
        "average_of_windows": Demanding(
            SERIES,
            {
                "optimizer": {"kind": "adam", "lr": 0.01},
                "windows": {"spans": {"x": [0, 4], "label": 3}},
                "sampling": {"weights": "balanced", "of": "label"},
                "normalize": {"x": "standard"},
                "average": {"kind": "ema", "decay": 0.9, "warm_up": True},
                "schedule": {"kind": "reduce_on_plateau", "patience": 0},
                "metrics": ["accuracy"],
                "record": {"epochs": True, "every_steps": 3},
                "validation": {"split": 0.2},
                "drop_last": True,
            },
        ),
        "skipping": Demanding(
            {**REGRESSION, "program": "loss = mean((x @ w - 1.0) ** 2) + mean(exp(30.0 * x)) * 1e-37"},
            {
                "optimizer": {"kind": "adam", "lr": 0.05},
                "divergence": {"action": "skip", "limit": 5},
            },
        ),
        "rolling_back": Demanding(
            REGRESSION,
            {
                "optimizer": {"kind": "sgd", "lr": 0.05},
                "schedule": too_long_after(2),
                "divergence": {"action": "roll_back", "factor": 1e-3},
            },
        ),
        "of_float16": Demanding(
            CLASSIFIER,
            {
                "optimizer": {"kind": "adam", "lr": 0.01},
                "precision": "mixed_float16",
                "loss_scaling": {"initial": 2.0**24, "growth_interval": 7},
                "micro_batch_size": 6,
            },
        ),
    }
)
