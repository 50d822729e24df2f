"""Small fits that several test modules run."""

import numpy as np

import engine

ROWS = np.random.default_rng(11)
X = ROWS.standard_normal((26, 4)).astype(np.float32)
LABELS = (X[:, 0] + X[:, 1] > 0).astype(np.int64) + (X[:, 2] > 1)
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
RECIPE = {
    "epochs": 3,
    "batch_size": 5,
    "optimizer": {"kind": "sgd", "lr": 0.1, "momentum": 0.9},
    "schedule": {"kind": "cosine", "t_max": 3},
    "clip": {"norm": 1.0},
    "validation": {"split": 0.15},
    "metrics": ["accuracy"],
    "seed": 5,
}
LINE = {
    "inputs": {"x": ["n", 1], "y": ["n"]},
    "parameters": {"w": [1], "b": []},
    "program": "loss = mse_loss(x @ w + b, y)",
}
PLATEAU = {"kind": "reduce_on_plateau", "patience": 0, "factor": 0.5, "threshold": 0.1, "cooldown": 1}


def classifier(**changes):
    """Start a fit of the classifier."""
    recipe = engine.read_recipe({**RECIPE, **changes})
    return engine.Fit(engine.parse_graph(CLASSIFIER), recipe, {"x": X, "label": LABELS})


def line(columns=None, document=LINE, **recipe):
    """Start a fit of a line."""
    x = np.linspace(-1, 1, 12)[:, None]
    columns = columns or {"x": x, "y": 3 * x[:, 0] + 2}
    recipe = {"epochs": 2, "batch_size": 4, "optimizer": {"kind": "sgd", "lr": 0.1}, **recipe}
    return engine.Fit(engine.parse_graph(document), engine.read_recipe(recipe), columns)


def state(fit):
    """Return every array of a fit by name, and where it stands."""
    snapshot = fit.snapshot()
    tables = {"p": snapshot.parameters, "b": snapshot.buffers, "o": snapshot.optimizer}
    arrays = {f"{table}:{name}": array.tobytes() for table, found in tables.items() for name, array in found.items()}
    return arrays, snapshot.cursor


def run(fit):
    """Run to the end; return the rows as clients get them."""
    return [point.to_json() for point in fit]
