"""Sweep: many fits of one graph on the same rows, run by a few threads and ranked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from engine.core.errors import EngineError
from engine.data.checkpoint import Checkpoint
from engine.graph.definition import Definition
from engine.training.fit import Columns, Fit, Point
from engine.training.recipe import read_recipe
from engine.training.sweep.expansion import Variant, expand
from engine.training.sweep.halving import (
    LeftBehind,
    SuccessiveHalving,
    rank_values,
    ranking_value,
    rungs,
    select_monitor,
)
from engine.training.sweep.options import SweepOptions, read_sweep
from engine.training.sweep.variant_pool import Ended, Reached, VariantPool

SIZES = ("epochs", "steps", "batch_size", "drop_last", "sampling")
"""Fields that determine the number of steps of a fit."""

Watch = Callable[[Variant, Fit, Sequence[Point]], None]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a variant so far.

    Attributes:
        variant: its index, its parameters and its recipe.
        value: the metric that ranks variants; None before there is one.
        step: training steps done.
        checkpoint: its state after them; None before the first.
        stopped: the reason of an early, successful end.
        failure: the error of a failed fit.
    """

    variant: Variant
    value: float | None = None
    step: int = 0
    checkpoint: Checkpoint | None = None
    stopped: str | None = None
    failure: EngineError | None = None


class Sweep:
    """Variants of one fit. They share the rows; each equals, bit for bit, a fit of its own.

    At most `threads` variants are in memory as fits at a time, the others as checkpoints.
    """

    def __init__(
        self,
        definition: Definition,
        recipe: Mapping[str, Any],
        sweep: Mapping[str, Any],
        columns: Columns,
        validation: Columns | None = None,
        *,
        threads: int = 1,
    ) -> None:
        """Create the variants; nothing runs yet.

        Args:
            definition: the graph.
            recipe: the common recipe, as a document that `read_recipe` takes.
            sweep: the fields that vary, as a document: see `SweepOptions`.
            columns: rows to train on, by column name.
            validation: rows to validate on, in place of a split.
            threads: how many variants run at a time.

        Raises:
            DocumentError: every fault found; a wrong value is named by its pointer into the sweep.
        """
        options = read_sweep(sweep)
        self.variants = expand(recipe, options)
        self._definition, self._columns, self._validation = definition, columns, validation
        self._threads = threads
        self._results = [Result(variant) for variant in self.variants]
        first = read_recipe(self.variants[0].recipe)
        self.monitor, self.mode = select_monitor(options, first, validated=validation is not None)
        self._halving = SuccessiveHalving(len(self.variants), self._rungs(options), eta=options.eta, mode=self.mode)

    @property
    def results(self) -> tuple[Result, ...]:
        """The variants from the best to the worst."""
        return tuple(self._results[place] for place in rank_values([found.value for found in self._results], self.mode))

    def run(self, watch: Watch | None = None) -> tuple[Result, ...]:
        """Run every variant until it ends or is eliminated; return the results, the best first.

        `watch` is called with the variant, its fit and the new metric rows, by the thread that runs it. If it raises,
        the sweep stops with that exception; another call resumes the variants from their last checkpoints.
        """

        def run_variant(index: int, goal: int | None) -> Reached | Ended:
            return self._run_variant(index, goal, watch)

        VariantPool(self._halving, run_variant, self._leave, threads=self._threads).run()
        return self.results

    def _rungs(self, options: SweepOptions) -> tuple[int, ...]:
        if options.kind != "halving":
            return ()
        alike = {repr([variant.recipe.get(name) for name in SIZES]): variant for variant in self.variants}
        steps = max(self._fit(variant).total_steps for variant in alike.values())
        return rungs(steps, len(self.variants), options.eta, options.min_steps)

    def _run_variant(self, index: int, goal: int | None, watch: Watch | None) -> Reached | Ended:
        variant, before = self.variants[index], self._results[index]
        with closing(self._fit(variant)) as fit:
            if before.checkpoint is not None:
                fit.restore(before.checkpoint)
            while not fit.done and (goal is None or fit.step < goal):
                points = fit.advance_chunk(goal)
                if watch is not None:
                    watch(variant, fit, points)
            value = ranking_value(self.monitor, fit.best, fit.latest)
            self._results[index] = Result(variant, value, fit.step, fit.snapshot(), fit.stopped, fit.failure)
            return Ended() if fit.done else Reached(value)

    def _leave(self, left: LeftBehind) -> None:
        self._results[left.variant] = replace(self._results[left.variant], stopped=left.reason)

    def _fit(self, variant: Variant) -> Fit:
        # Variants run side by side; threads inside a step would get in their way.
        threads = 1 if self._threads > 1 else None
        return Fit(self._definition, read_recipe(variant.recipe), self._columns, self._validation, threads=threads)
