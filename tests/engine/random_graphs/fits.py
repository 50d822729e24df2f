"""Random whole fits: by compiled kernels as by NumPy, and to the bit when resumed, by any number of threads."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import numpy as np

import engine
from engine.core.errors import DocumentError
from engine.core.value import Array
from engine.execution.plan import numpy_executor
from engine.execution.plan.numpy_executor import prepare
from engine.execution.plan.plan import Step
from engine.graph.definition import Definition
from engine.optim.optimizers import OPTIMIZERS
from tests.engine.random_graphs.executors import Results
from tests.engine.random_graphs.law import Broken, different
from tests.engine.random_graphs.layers import CLASSES, random_stack
from tests.engine.random_graphs.thresholds import Thresholds, random_thresholds
from tests.engine.random_graphs.tolerance import Noise, Replay, Tolerance

Document = dict[str, Any]

OPTIMIZER_OPTIONS: Mapping[str, tuple[Document, ...]] = MappingProxyType(
    {
        "sgd": ({}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"weight_decay": 0.1, "maximize": True}),
        "adam": ({}, {"amsgrad": True}, {"weight_decay": 0.1}),
        "adamw": ({}, {"amsgrad": True}),
        "rmsprop": ({}, {"momentum": 0.9}, {"centered": True}),
        "nadam": ({}, {"decoupled": True, "weight_decay": 0.1}),
        "asgd": ({}, {"t0": 1.0}),
        "lars": ({}, {"trust_coefficient": 0.1}),
        "adafactor": ({}, {"weight_decay": 0.1}),
    }
)
"""Options by optimizer; the others have their defaults."""
NOT_ALONE = ("chain", "muon")
"""Optimizers that do nothing without other options, or that do not step every parameter."""
SCHEDULES: tuple[Document, ...] = (
    {},
    {},
    {"schedule": {"kind": "cosine", "t_max": 4}},
    {"schedule": {"kind": "step", "step_size": 2, "gamma": 0.5, "per": "step"}},
    {"schedule": {"kind": "one_cycle", "max_lr": 0.01, "total_steps": 64, "per": "step"}},
)
OPTIONS: tuple[Document, ...] = (
    {},
    {},
    {"clip": {"norm": 0.5}},
    {"clip": {"value": 0.01}},
    {"average": {"kind": "ema", "decay": 0.9}},
    {"average": {"kind": "swa", "every_steps": 2}},
    {"micro_batch_size": 2},
    {"validation": {"split": 0.25}},
    {"noise": {"eta": 0.01}},
    {"freeze": [{"match": "*weight", "last_epoch": 1}]},
    {"drop_last": True},
    {"recompute": {"segments": 2}},
)
EVENT_EVERY = 4
"""Every so manyth fit is stopped, saved and resumed, and run by other numbers of threads."""


@dataclass(frozen=True)
class RandomFit:
    """A fit: a graph, the document of a recipe, and rows."""

    definition: Definition
    recipe: Document
    columns: Mapping[str, Array]
    thresholds: Thresholds
    stopped_at: int

    def start(self, executor: str, threads: int | None = None) -> engine.Fit:
        """Begin it."""
        recipe = engine.read_recipe(self.recipe)
        return engine.Fit(
            self.definition, recipe, dict(self.columns), execution=engine.Execution(executor, threads=threads)
        )

    def text(self) -> str:
        """Print graph and recipe."""
        columns = {name: f"{array.dtype.name}{list(array.shape)}" for name, array in self.columns.items()}
        nodes = [f"{n.name} = {n.op}({', '.join(map(str, n.inputs))}, {dict(n.attrs)})" for n in self.definition.nodes]
        return "\n".join([*nodes, f"recipe {self.recipe}", f"columns {columns}", f"{self.thresholds}"])


def random_fit(seed: object) -> RandomFit:
    """Make the fit of a seed."""
    draw = random.Random(f"fit {seed}")
    definition = random_stack(draw)
    batch = draw.choice((4, 8, 16, 32))
    rows = batch * draw.choice((1, 2, 3)) + draw.choice((0, 0, 2))
    columns = draw_columns(definition, rows, draw)
    kind = draw.choice([kind for kind in OPTIMIZERS if kind not in NOT_ALONE])
    optimizer = {"kind": kind, **draw.choice(OPTIMIZER_OPTIONS.get(kind, ({},)))}
    precision = draw.choice(("float32",) * 5 + ("float64",) * 3 + ("mixed_float16", "mixed_bfloat16"))
    recipe = {"optimizer": optimizer, "steps": draw.randint(2, 7), "batch_size": batch, "seed": draw.getrandbits(30)}
    recipe |= {"precision": precision, **draw.choice(SCHEDULES), **draw.choice(OPTIONS)}
    stopped_at = draw.randrange(1, recipe["steps"]) if draw.randrange(EVENT_EVERY) == 0 else 0
    return RandomFit(definition, recipe, columns, random_thresholds(seed), stopped_at)


def draw_columns(definition: Definition, rows: int, draw: random.Random) -> dict[str, Array]:
    """Draw so many rows."""
    generator = np.random.default_rng(draw.getrandbits(64))
    return {
        name: _column(generator, (rows, *(int(extent) for extent in spec.shape[1:])), spec.dtype)
        for name, spec in definition.inputs.items()
    }


def _column(generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "i":
        return generator.integers(0, CLASSES, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


def finished(fit: engine.Fit) -> Results:
    """Run a fit to its end; return every loss and metric, and all that is learned."""
    results: Results = {}
    exact = np.float64 if fit.recipe.precision == "float64" else np.float32  # metrics are reported as Python's numbers
    with np.errstate(all="ignore"):
        while not fit.done:
            for point in fit.advance():
                reported = {
                    name: x for name, x in point.values.items() if isinstance(x, float) and "second" not in name
                }
                for name, number in reported.items():
                    results[f"{point.split} {name} after step {point.step}"] = np.asarray(number, exact)
    fit.close()
    return {**results, **{f"parameter {n}": a.copy() for n, a in {**fit.model.parameters, **fit.model.buffers}.items()}}


def _finished_or_refused(case: RandomFit, executor: str) -> Results | str:
    """Return the results of a fit, or why it is refused: a part of a batch may be too small for a layer."""
    try:
        return finished(case.start(executor, 1))
    except DocumentError as error:
        return str(error)


def broken(case: RandomFit) -> Broken | None:
    """Run a fit in every way; return the first comparison that fails, or None."""
    try:
        with case.thresholds.applied():
            return _checked(case)
    except Exception as error:  # noqa: BLE001 - a fit has to run in every way
        last = traceback.extract_tb(error.__traceback__)[-1]
        return Broken(f"{type(error).__name__} in {last.name}", str(error)[:500])


def _prepared(noise: Noise, step: Step, inputs: list[Array], outputs: list[Array]) -> Callable[[], Any] | None:
    """Bind a step as the NumPy executor does, and move its results."""
    call = prepare(step, inputs, outputs)
    if call is None:
        return None

    def called() -> list[Array]:
        call()
        return outputs

    def run() -> None:
        for output, moved in zip(outputs, noise.around(step.op.name, step.attrs, inputs, called), strict=True):
            output[...] = moved

    return run


def replaying(case: RandomFit) -> Replay:
    """Return a function that runs a fit by NumPy from other weights and rows, see Tolerance."""

    def replay(noise: Noise) -> Results:
        columns = {name: noise.leaf(column) for name, column in case.columns.items()}
        with patch.object(numpy_executor, "prepare", partial(_prepared, noise)):
            fit = replace(case, columns=columns).start("numpy")
            for array in fit.model.parameters.values():
                array[...] = noise.leaf(array)
            return finished(fit)

    return replay


def _checked(case: RandomFit) -> Broken | None:
    expected = _finished_or_refused(case, "numpy")
    found = _finished_or_refused(case, "native")
    if isinstance(expected, str) or isinstance(found, str):
        return None if expected == found else Broken("only one executor refuses", f"{expected} {found}")
    if expected.keys() != found.keys():
        return Broken("a compiled fit has other metrics", f"{sorted(expected.keys() ^ found.keys())}")

    # Optimizers that divide gradients by their size make steps of rounding errors: all are as uncertain as one.
    if faults := Tolerance(expected, replaying(case), common=1.0).faults(found):
        return Broken("a compiled fit is off", "; ".join(faults[:4]))
    if case.stopped_at:
        for executor in ("native", "numpy"):
            first = case.start(executor, 2)
            first.advance(case.stopped_at)
            checkpoint = first.snapshot()
            first.close()
            again = case.start(executor, 3)
            again.restore(checkpoint)
            # Metrics of the steps before it was stopped are reported by the first part.
            rest = finished(again)
            whole = {
                name: array for name, array in (found if executor == "native" else expected).items() if name in rest
            }
            if differing := different(whole, rest):
                return Broken(f"a resumed fit goes on with other bits ({executor})", differing)
    return None
