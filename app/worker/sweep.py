"""Running a sweep: each variant as a fit, several of them in parallel."""

from dataclasses import replace
from pathlib import Path

import engine
from app.domain.fit import WAITING
from app.domain.messages import Assignment, Failed, Finished, Phase, SweepShare, VariantShare
from app.domain.runtime import Runtime
from app.worker.control import Control
from app.worker.fit_loop import OUTCOMES, Rung, RungReached, run_fit, to_verdict
from app.worker.reporter import Reporter
from app.worker.resources import select_executor


def run_sweep(assignment: Assignment, reporter: Reporter, control: Control) -> Finished | Failed:
    """Run a sweep and return the verdict; reports of variants go through `reporter`.

    Raises nothing: an error in a variant is the verdict of that variant.
    """
    try:
        return _Sweep(assignment, reporter, control).run()
    except Exception as error:  # noqa: BLE001 - the server gets a verdict for every error
        return to_verdict(error, assignment)


class _Sweep:
    """The variants and their progress."""

    def __init__(self, assignment: Assignment, reporter: Reporter, control: Control) -> None:
        assert assignment.sweep is not None
        self._assignment = assignment
        self._reporter = reporter
        self._control = control
        self._sweep = sweep = SweepShare.from_json(assignment.sweep)
        self._resume_from = [variant.resume_from for variant in sweep.variants]
        self._halving = engine.sweep.SuccessiveHalving(
            len(sweep.variants),
            sweep.rungs,
            eta=sweep.eta,
            mode=sweep.mode,
            reached=[variant.reached for variant in sweep.variants],
            ended=[place for place, variant in enumerate(sweep.variants) if variant.ended],
        )
        # Variants run side by side; threads inside a step would get in their way.
        alone = replace(Runtime.from_json(assignment.runtime), threads=1)
        runtime = select_executor(alone, engine.Alone(), reporter.send)
        self._runtime = runtime.to_json()
        reporter.send(Phase("training", None, replace(runtime, threads=sweep.threads).to_json()))

    def run(self) -> Finished:
        """Run until every variant has ended, or the server requests a stop."""
        engine.sweep.VariantPool(
            self._halving, self._run_variant, self._end_left_behind, threads=self._sweep.threads
        ).run()
        stop_requested = self._control.stop_requested
        return Finished("succeeded" if self._halving.done or stop_requested is None else OUTCOMES[stop_requested])

    def _run_variant(
        self, index: int, goal: int | None
    ) -> engine.sweep.Reached | engine.sweep.Ended | engine.sweep.Halted:
        """Work on one variant up to a rung, or to its end."""
        if self._control.stop_requested is not None:
            return engine.sweep.Halted()
        variant = self._sweep.variants[index]
        with self._reporter.for_variant(variant.fit_id) as reporter:
            outcome = self._run_to_goal(index, variant, goal, reporter)
            if isinstance(outcome, RungReached):
                self._resume_from[index] = outcome.resume_from
                reporter.send(Phase(WAITING))
                reporter.send(outcome.reached)
                return engine.sweep.Reached(outcome.reached.value)
            reporter.send(outcome)
        stopped = isinstance(outcome, Finished) and outcome.outcome != "succeeded"
        return engine.sweep.Halted() if stopped and self._control.stop_requested is not None else engine.sweep.Ended()

    def _run_to_goal(
        self, index: int, variant: VariantShare, goal: int | None, reporter: Reporter
    ) -> Finished | Failed | RungReached:
        if self._control.is_cancelled(variant.fit_id):
            return Finished("cancelled")
        staging = Path(self._assignment.staging) / str(index)
        staging.mkdir(mode=0o700, exist_ok=True)
        assignment = replace(
            self._assignment,
            fit_id=variant.fit_id,
            request=variant.request,
            resume_from=self._resume_from[index],
            staging=str(staging),
            runtime=self._runtime,
            sweep=None,
            fork=None,
            reopened_at=variant.reopened_at,
        )
        rung = None if goal is None else Rung(goal, self._sweep.monitor)
        return run_fit(assignment, reporter, self._control.for_variant(variant.fit_id), engine.Alone(), rung)

    def _end_left_behind(self, left: engine.sweep.LeftBehind) -> None:
        variant = self._sweep.variants[left.variant]
        cancelled = self._control.is_cancelled(variant.fit_id)
        with self._reporter.for_variant(variant.fit_id) as reporter:
            reporter.send(Finished("cancelled") if cancelled else Finished("succeeded", left.reason))
