"""Compares random whole fits with PyTorch loops over the same stacks of layers; no test, for it needs PyTorch.

Usage:
    python -m tests.engine.random_graphs.against_torch --torch PYTHON [--seed S] [--count N] [--executor native|numpy]

PYTHON is an interpreter that has torch and NumPy; `make bench` makes one in .venv-peers. Fits are in float64, in the
order of the rows, without what draws random numbers. What differs is printed; the exit status is 1 then.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine.core.value import Array
from tests.engine.random_graphs.executors import Results
from tests.engine.random_graphs.fits import OPTIMIZER_OPTIONS, RandomFit, draw_columns, finished, replaying
from tests.engine.random_graphs.layers import random_document
from tests.engine.random_graphs.thresholds import Thresholds
from tests.engine.random_graphs.tolerance import Tolerance

Document = dict[str, Any]

SCRIPT = Path(__file__).parent / "torch_loop.py"
OPTIMIZERS = ("sgd", "adam", "adamw", "adagrad", "rmsprop", "adadelta", "adamax", "nadam", "radam", "rprop", "asgd")
NOT_IN_TORCH = {
    "dropout", "alpha_dropout", "feature_dropout", "residual", "parallel", "sequential", "swiglu", "geglu", "reglu",
    "rrelu", "sinusoidal_positions", "rotary_positions", "focal_loss",
}  # fmt: skip
"""Layers that draw numbers, that PyTorch has no module for, or that consist of others; and a loss."""
SCHEDULES: tuple[Document, ...] = (
    {},
    {"schedule": {"kind": "cosine", "t_max": 4}},
    {"schedule": {"kind": "step", "step_size": 2, "gamma": 0.5, "per": "step"}},
)
CLIPS: tuple[Document, ...] = ({}, {}, {"clip": {"norm": 0.5}}, {"clip": {"value": 0.01}})


def random_case(draw: random.Random) -> tuple[Document, RandomFit]:
    """Return a document with all that PyTorch needs, and the fit."""
    document = _stack(draw)
    batch = draw.choice((4, 8, 16))
    kind = draw.choice(OPTIMIZERS)
    optimizer = {"kind": kind, "lr": 0.01, **draw.choice(OPTIMIZER_OPTIONS.get(kind, ({},)))}
    recipe = {"optimizer": optimizer, "steps": draw.randint(2, 7), "batch_size": batch, "precision": "float64"}
    recipe |= {"seed": draw.getrandbits(30), "shuffle": False, **draw.choice(SCHEDULES), **draw.choice(CLIPS)}
    definition = engine.model.at_precision(engine.parse_graph(document), "float64")
    columns = draw_columns(definition, batch * draw.choice((1, 2, 3)) + draw.choice((0, 2)), draw)
    case = RandomFit(definition, recipe, columns, Thresholds(), 0)
    reported = {"layers": document["layers"], "loss": document["loss"]["kind"], "recipe": recipe}
    return {**reported, "parameters": [*definition.parameters], "buffers": [*definition.buffers]}, case


def _stack(draw: random.Random) -> Document:
    """Draw stacks until there is one that PyTorch has."""
    while True:
        document = random_document(draw)
        kinds = {layer if isinstance(layer, str) else layer["layer"] for layer in document["layers"]}
        if not NOT_IN_TORCH & {*kinds, document["loss"]["kind"]}:
            for layer in document["layers"]:
                if isinstance(layer, dict) and "dropout" in layer:
                    layer["dropout"] = 0.0
            return document


def by_torch(python: str, documents: list[Document], cases_of: list[RandomFit]) -> list[Results]:
    """Let PyTorch fit the cases from the weights that the fits start with."""
    arrays: dict[str, Array] = {"cases": np.array([json.dumps(document) for document in documents])}
    for number, case in enumerate(cases_of):
        fit = case.start("numpy")
        for name, array in fit.model.parameters.items():
            arrays[f"{number}/parameter {name}"] = array.copy()
        for name, array in fit.model.buffers.items():
            arrays[f"{number}/buffer {name}"] = array.copy()
        for name, column in case.columns.items():
            arrays[f"{number}/column {name}"] = column
    with tempfile.TemporaryDirectory() as folder:
        cases, results = Path(folder) / "cases.npz", Path(folder) / "results.npz"
        np.savez(cases, **arrays)
        subprocess.run([python, str(SCRIPT), str(cases), str(results)], check=True)
        with np.load(results) as file:
            found = dict(file)
    prefixes = [f"{number}/" for number in range(len(documents))]
    return [{n.removeprefix(p): array for n, array in found.items() if n.startswith(p)} for p in prefixes]


def main() -> int:
    """Draw cases, fit them twice, compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine.random_graphs.against_torch")
    parser.add_argument("--torch", required=True)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--executor", default="native")
    given = parser.parse_args()
    pairs = [random_case(random.Random(f"torch {given.seed}/{number}")) for number in range(given.count)]
    documents, cases = [document for document, _ in pairs], [case for _, case in pairs]
    found = by_torch(given.torch, documents, cases)
    wrong = 0
    for number, (case, results) in enumerate(zip(cases, found, strict=True)):
        expected = {name: array for name, array in finished(case.start(given.executor, 2)).items() if name in results}
        faults = Tolerance(expected, replaying(case), common=1.0).faults(results)
        if len(expected) < len(results):
            faults.append(f"PyTorch alone has {sorted(results.keys() - expected.keys())}")
        if faults:
            wrong += 1
            sys.stdout.write(f"seed {given.seed} number {number}: {faults[:4]}\n{case.text()}\n")
    sys.stdout.write(f"{given.count} fits by {given.executor} and by PyTorch, {wrong} differ\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
