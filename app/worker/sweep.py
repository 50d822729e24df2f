"""Carrying out a sweep: each variant as a fit of its own, several of them side by side."""

from dataclasses import replace
from pathlib import Path

import engine
from app.domain.messages import Assignment, Failed, Finished, Phase, SweepShare, VariantShare
from app.domain.runtime import Runtime
from app.domain.sweep import WAITING
from app.worker.control import Control
from app.worker.fit_loop import OUTCOMES, Halfway, Rung, verdict_of, work
from app.worker.reporter import Recorder
from app.worker.resources import chosen


def work_on_variants(assignment: Assignment, recorder: Recorder, control: Control) -> Finished | Failed:
    """Carry out a sweep and return the verdict; what is to be told of variants goes through `recorder` on the way.

    Raises nothing: whatever happens to one variant is that one's verdict.
    """
    try:
        return _Sweep(assignment, recorder, control).run()
    except Exception as error:  # noqa: BLE001 - whatever it was, the server gets a verdict
        return verdict_of(error, assignment)


class _Sweep:
    """The variants, as far as they have come."""

    def __init__(self, assignment: Assignment, recorder: Recorder, control: Control) -> None:
        assert assignment.sweep is not None
        self._assignment = assignment
        self._recorder = recorder
        self._control = control
        self._share = share = SweepShare.from_json(assignment.sweep)
        self._resume_from = [variant.resume_from for variant in share.variants]
        self._halving = engine.sweep.SuccessiveHalving(
            len(share.variants),
            share.rungs,
            eta=share.eta,
            mode=share.mode,
            reached=[variant.reached for variant in share.variants],
            ended=[place for place, variant in enumerate(share.variants) if variant.ended],
        )
        # Variants run side by side; threads inside a step would get in their way.
        alone = replace(Runtime.from_json(assignment.runtime), threads=1)
        runtime = chosen(alone, engine.Alone(), recorder.send)
        self._runtime = runtime.to_json()
        recorder.send(Phase("training", None, replace(runtime, threads=share.threads).to_json()))

    def run(self) -> Finished:
        """Work until every variant has ended, or the server wants to stop."""
        engine.sweep.VariantPool(self._halving, self._run_variant, self._leave, threads=self._share.threads).run()
        wanted = self._control.wanted
        return Finished("succeeded" if self._halving.done or wanted is None else OUTCOMES[wanted])

    def _run_variant(
        self, index: int, goal: int | None
    ) -> engine.sweep.Reached | engine.sweep.Ended | engine.sweep.Halted:
        """Work on one variant up to a rung, or to its end."""
        if self._control.wanted is not None:
            return engine.sweep.Halted()
        variant = self._share.variants[index]
        with self._recorder.about(variant.fit_id) as recorder:
            come = self._verdict(index, variant, goal, recorder)
            if isinstance(come, Halfway):
                self._resume_from[index] = come.resume_from
                recorder.send(Phase(WAITING))
                recorder.send(come.reached)
                return engine.sweep.Reached(come.reached.value)
            recorder.send(come)
        stopped = isinstance(come, Finished) and come.outcome != "succeeded"
        return engine.sweep.Halted() if stopped and self._control.wanted is not None else engine.sweep.Ended()

    def _verdict(
        self, index: int, variant: VariantShare, goal: int | None, recorder: Recorder
    ) -> Finished | Failed | Halfway:
        if self._control.cancels(variant.fit_id):
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
        rung = None if goal is None else Rung(goal, self._share.monitor)
        return work(assignment, recorder, self._control.of(variant.fit_id), engine.Alone(), rung)

    def _leave(self, left: engine.sweep.LeftBehind) -> None:
        variant = self._share.variants[left.variant]
        cancelled = self._control.cancels(variant.fit_id)
        with self._recorder.about(variant.fit_id) as recorder:
            recorder.send(Finished("cancelled") if cancelled else Finished("succeeded", left.reason))
