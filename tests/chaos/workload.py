"""What is trained while faults are injected: small fits with all the state that a resumed one could get wrong."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tests.app.demanding_fits import CLASSIFIER

ROWS = 200
CHECKPOINT_EVERY = 40
STEPS = 400
"""Enough to be caught in the middle."""


def columns(rows: int = ROWS, seed: int = 1) -> dict[str, Any]:
    """Return rows for `CLASSIFIER`, as JSON has them."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((rows, 6)).astype("float32")
    return {"x": x.tolist(), "label": np.argmax(x[:, :3], axis=1).tolist()}


def fit_request(steps: int, **changes: Any) -> dict[str, Any]:
    """Return a request for a fit of `CLASSIFIER`, which has dropout and batch norm, on shuffled rows."""
    return {
        "graph": CLASSIFIER,
        "dataset": {"columns": columns()},
        "optimizer": {"kind": "sgd", "lr": 0.05, "momentum": 0.9},
        "batch_size": 16,
        "steps": steps,
        "seed": 7,
        "record": {"every_steps": 1},
        "checkpoint": {"every_steps": CHECKPOINT_EVERY, "every_epochs": None, "keep_last": 3},
        "resources": {"executor": "numpy"},
        **changes,
    }


def curves(steps: int) -> Mapping[str, dict[str, Any]]:
    """Return the fits that must come to the same bits whatever is killed, each of `steps` steps at the most."""
    return MappingProxyType(
        {
            "mixed_momentum": fit_request(steps, precision="mixed_float16", resources={}),
            "numpy_schedule": fit_request(steps, seed=8, schedule={"kind": "cosine", "t_max": 20}),
            "adam_stopping": fit_request(
                steps,
                seed=9,
                optimizer={"kind": "adam", "lr": 0.002},
                validation={"split": 0.2},
                early_stopping={"patience": 60, "restore_best": True},
            ),
        }
    )


def endless_request(**changes: Any) -> dict[str, Any]:
    """Return a request for a fit that lasts longer than any test; it records and saves often."""
    return fit_request(100_000_000, **changes)
