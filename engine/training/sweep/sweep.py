"""Sweep: many fits of one graph on the same rows, run by a pool of threads and ranked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from engine.core.errors import EngineError
from engine.data.checkpoint import Checkpoint
from engine.graph.definition import Definition
from engine.training.execution import Execution
from engine.training.fit.fit import Fit
from engine.training.fit.preprocessed import Columns
from engine.training.fit.steps import MetricRow
from engine.training.recipe.recipe import read_recipe
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

SIZES = ("epochs", "steps", "batch_size", "drop_last", "sampling")
"""Fields that determine the number of steps of a fit."""

Watch = Callable[[Variant, Fit, Sequence[MetricRow]], None]


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
                metric_rows = fit.advance_chunk(goal)
                if watch is not None:
                    watch(variant, fit, metric_rows)
            value = ranking_value(self.monitor, fit.best, fit.latest)
            self._results[index] = Result(variant, value, fit.step, fit.snapshot(), fit.stopped, fit.failure)
            return Ended() if fit.done else Reached(value)

    def _leave(self, left: LeftBehind) -> None:
        self._results[left.variant] = replace(self._results[left.variant], stopped=left.reason)

    def _fit(self, variant: Variant) -> Fit:
        # Variants run side by side; threads inside a step would get in their way.
        execution = Execution(threads=1 if self._threads > 1 else None)
        recipe = read_recipe(variant.recipe)
        return Fit(self._definition, recipe, self._columns, self._validation, execution=execution)


@dataclass(frozen=True, slots=True)
class Reached:
    """A variant has reached its rung with this value of the metric."""

    value: float | None


class Ended:
    """A variant has ended."""


class Halted:
    """The sweep stops, and may be resumed later."""


RunVariant = Callable[[int, int | None], Reached | Ended | Halted]
"""Runs a variant up to a step (None: to its end) and returns the result."""


class VariantPool:
    """Runs the variants that successive halving selects.

    Native calls release the interpreter lock, so variants that run many steps per call run in parallel. The numbers of
    a variant do not depend on the thread that runs it, nor on when it runs.
    """

    def __init__(
        self,
        halving: SuccessiveHalving,
        run_variant: RunVariant,
        stop_variant: Callable[[LeftBehind], None],
        *,
        threads: int = 1,
    ) -> None:
        """Create the pool; no thread is started.

        Args:
            halving: which variants run, and how far.
            run_variant: runs one variant; called by several threads, never by two at once for one variant.
            stop_variant: ends an eliminated variant; called by one thread at a time.
            threads: how many variants run at once.
        """
        self._halving = halving
        self._run_variant = run_variant
        self._stop_variant = stop_variant
        self._threads = max(1, min(threads, halving.variants))
        self._changed = threading.Condition()
        self._running: set[int] = set()
        self._halted = False
        self._error: BaseException | None = None

    def run(self) -> bool:
        """Run until every variant has ended; False if the sweep was halted before.

        Raises:
            Exception: the first one that `run_variant` or `stop_variant` raised; the other variants stop at their next
                rung or end.
        """
        with self._changed:
            self._stop_eliminated()
        others = [
            threading.Thread(target=self._run_variants, name="variant", daemon=True) for _ in range(1, self._threads)
        ]
        for thread in others:
            thread.start()
        self._run_variants()
        for thread in others:
            thread.join()
        if self._error is not None:
            raise self._error
        return self._halving.done

    def _run_variants(self) -> None:
        while (variant := self._next()) is not None:
            with self._release_afterwards(variant):
                result = self._run_variant(variant, self._halving.goal(variant))
                with self._changed:
                    self._record(variant, result)

    def _next(self) -> int | None:
        """Wait for a variant that is ready to run and return it; None when there will be none."""
        with self._changed:
            while not self._halted and not self._halving.done:
                free = [variant for variant in self._halving.ready() if variant not in self._running]
                if free:
                    self._running.add(free[0])
                    return free[0]
                self._changed.wait()
            return None

    def _record(self, variant: int, result: Reached | Ended | Halted) -> None:
        if isinstance(result, Reached):
            self._halving.reach(variant, result.value)
        elif isinstance(result, Ended):
            self._halving.end(variant)
        else:
            self._halted = True
        self._stop_eliminated()

    def _stop_eliminated(self) -> None:
        for left in self._halving.left_behind():
            self._stop_variant(left)
            self._halving.end(left.variant)

    @contextmanager
    def _release_afterwards(self, variant: int) -> Iterator[None]:
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that called `run`
            self._halted, self._error = True, self._error or error
        finally:
            with self._changed:
                self._running.discard(variant)
                self._changed.notify_all()
