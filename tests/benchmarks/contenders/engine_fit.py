"""Our engine: `engine.Fit`, by one executor. A row is recorded every hundred steps, without gradient norms."""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor

import engine
from engine.execution.native import most_shards
from engine.training.step.plans import plan_training
from tests.benchmarks.families import Columns
from tests.benchmarks.protocol import Make, Missing, Steps, serve
from tests.benchmarks.starts import fits
from tests.benchmarks.workloads import Workload


class EngineFit(Steps):
    """The fits of a workload; several are walked by as many threads as there may be, each for all its steps at once."""

    def __init__(self, workload: Workload, executor: str, threads: int) -> None:
        """Start the fits."""
        self.version = ""
        self.setting = f"executor {executor}"
        alone = workload.copies == 1
        self._fits = fits(workload, engine.Execution(executor, threads if alone else 1))
        self._walkers = ThreadPoolExecutor(1 if alone else threads)
        if executor == "native":
            self.numpy_steps = _numpy_steps(self._fits[0], workload.batch)

    def run(self, steps: int) -> tuple[int, float]:
        """Advance every fit; the loss is the mean of theirs."""
        for _ in self._walkers.map(lambda fit: fit.advance(steps), self._fits):
            pass
        return steps, sum(fit.latest["loss"] for fit in self._fits) / len(self._fits)


def _numpy_steps(fit: engine.Fit, batch: int) -> tuple[str, ...]:
    """Return the ops of a step that the native executor leaves to NumPy."""
    from engine.execution.native.coverage import numpy_steps  # imports numba

    return numpy_steps(plan_training(fit.model, {"batch": batch}, fit.recipe, most_shards=most_shards("native")))


def build(workload: Workload, weights: Columns, arguments: argparse.Namespace) -> list[Make]:
    """Offer the executor that was asked for."""
    if arguments.executor not in engine.executors():
        raise Missing(f"the executor {arguments.executor} is not available here")
    return [lambda: EngineFit(workload, arguments.executor, arguments.threads)]


if __name__ == "__main__":
    serve(build, "executor")
