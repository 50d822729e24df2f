"""Sessions that the tests share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.session.session import Session

ROWS = np.random.default_rng(7)
X = ROWS.standard_normal((12, 4)).astype(np.float32)
LABELS = ROWS.integers(0, 3, 12)
CLASSIFIER = {
    "inputs": {"x": ["batch", 4], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [
        {"layer": "linear", "units": 6, "activation": "relu"},
        "batch_norm",
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 3},
    ],
    "loss": "cross_entropy",
}
MATRICES = {
    "inputs": {"x": ["n", 4], "y": ["n", 2]},
    "parameters": {"v": [4, 3], "w": [3, 2]},
    "program": "h = tanh(x @ v)\npred = h @ w\nloss = mse_loss(pred, y)",
}


@pytest.fixture
def batch() -> dict[str, Any]:
    """Give twelve rows for the classifier."""
    return {"x": X.copy(), "label": LABELS.copy()}


@pytest.fixture
def pairs() -> dict[str, Any]:
    """Give twelve rows for the matrices."""
    return {"x": X.copy(), "y": np.stack([X[:, 0] * X[:, 1], np.sin(X[:, 2])], axis=1)}


@pytest.fixture
def classifier() -> Callable[..., Session]:
    """Give what starts a session of a network with batch norm and dropout."""
    return lambda optimizer="adam", **options: Session(engine.parse_graph(CLASSIFIER), optimizer, **options)


@pytest.fixture
def matrices() -> Callable[..., Session]:
    """Give what starts a session of two matrices."""
    return lambda optimizer="adam", **options: Session(engine.parse_graph(MATRICES), optimizer, **options)


@pytest.fixture
def program() -> Callable[..., Session]:
    """Give what starts a session of a program with parameters of given values."""

    def start(text: str, parameters: dict[str, Any], inputs: dict[str, Any] | None = None, **options: Any) -> Session:
        shapes = {name: list(np.shape(value)) for name, value in parameters.items()}
        document = {"inputs": inputs or {}, "parameters": shapes, "program": text}
        session = Session(engine.parse_graph(document), **{"optimizer": "sgd", "precision": "float64", **options})
        session.set_parameters(parameters)
        return session

    return start


@pytest.fixture
def state() -> Callable[[Session], dict[str, bytes | str]]:
    """Give what writes down everything that the next calls of a session depend on."""

    def write(session: Session) -> dict[str, bytes | str]:
        kept = session.snapshot()
        tables = {"p": kept.parameters, "b": kept.buffers, "o": kept.optimizer, "s": kept.state}
        found: dict[str, bytes | str] = {
            f"{table}:{name}": array.tobytes() for table, arrays in tables.items() for name, array in arrays.items()
        }
        return {**found, "cursor": repr(kept.cursor)}

    return write
