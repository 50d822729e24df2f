"""Extending fits that have ended, and the variants of sweeps, by more epochs or steps."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import engine
from app.domain.errors import Conflict, Invalid
from app.domain.fit import FitRecord, FitState
from app.domain.sweep import check_whole, sweep_config_of
from app.service.fits.admission import Admission, AdmittedFit
from app.service.fits.control import FitRequeue, check_startable
from app.service.fits.inputs import FitInputs, InputReader
from app.service.fits.sweeps import find_extendable
from app.service.fits.view import FitView, build_view, record_every_steps
from app.service.resources.engine_documents import invalid
from app.service.resources.idempotency import SaveResponse
from app.store.unit_of_work import Store, UnitOfWork

LENGTHS = ("epochs", "steps")


@dataclass(frozen=True, slots=True)
class Extension:
    """How much more of a fit is wanted."""

    unit: Literal["epochs", "steps"]
    count: int


class FitExtension:
    """Queues fits that have ended for more epochs or steps."""

    def __init__(self, store: Store, inputs: InputReader, requeue: FitRequeue, admission: Admission) -> None:
        """Extend fits in `store` as far as `admission` accepts them."""
        self._store = store
        self._inputs = inputs
        self._requeue = requeue
        self._admission = admission

    def extend(self, fit_id: str, extension: Extension, save_response: SaveResponse[FitView]) -> FitView:
        """Queue a fit that has ended for more epochs or steps than it has made; it goes on from its last checkpoint.

        Of a sweep, each variant that came to its end does, and those that the sweep did not bring to their end get so
        much more than was asked for; variants that were left behind, cancelled or failed of themselves stay as they
        are. Conflict if it has not ended, is a variant, or has no checkpoint to go on from; Invalid or TooLarge if it
        cannot be run for so long.
        """
        while True:
            with self._store.begin() as work:
                fit = work.fits.get(fit_id)
                variants = _find_extendable(work, fit)
            inputs = self._inputs.read(fit.request, set())
            if fit.sweep is None:
                after, extended = self._lengthen(inputs, fit, extension), []
            else:
                extended = [self._lengthen(inputs, variant, extension) for variant in variants]
            with self._store.begin() as work:
                now = work.fits.get(fit_id)
                if now.version != fit.version or _find_extendable(work, now) != variants:
                    continue
                if fit.sweep is not None:
                    after = _extend_sweep(fit, extension, work.fits.variants(fit_id), extended)
                fit = self._requeue.queue(work, after, extended)
                view = build_view(work, fit)
                save_response(work, view)
                return view

    def _lengthen(self, inputs: FitInputs, fit: FitRecord, extension: Extension) -> FitRecord:
        """Return the fit with the request for so much more, and what follows from that."""
        unit, request = extension.unit, keep_recording_interval(fit, fit.request)
        # All variants of a sweep get the same length, also those that the loss of its process kept from theirs.
        made = fit.step if fit.parent_id is None or fit.state is FitState.SUCCEEDED else fit.total_steps
        try:
            steps = 1 if unit == "steps" else self._admit_as(fit, inputs, request).estimate.steps_per_epoch
            request = {name: value for name, value in request.items() if name not in LENGTHS}
            request[unit] = -(-made // steps) + extension.count
            admitted = self._admit_as(fit, inputs, request)
        except Invalid as error:
            # The client named a number only, and not the field that does not go with it.
            raise invalid(replace(fault, pointer=f"/{unit}") for fault in error.findings) from error
        total_steps = admitted.estimate.total_steps
        budget = request.get("budget") or {}
        if budget.get("steps") is not None:
            request["budget"] = {**budget, "steps": max(budget["steps"], total_steps)}
        return replace(fit, request=request, total_steps=total_steps, memory_bytes=admitted.memory_bytes)

    def _admit_as(self, fit: FitRecord, inputs: FitInputs, request: Mapping[str, Any]) -> AdmittedFit:
        """Check a new request of a fit, which keeps the executor that it ran with."""
        return self._admission.fit(inputs.candidate(request, fit.runtime))


def check_checkpoint(work: UnitOfWork, fit: FitRecord) -> None:
    """Conflict unless the fit can go on exactly where it stands: a row that was read is not made again otherwise."""
    latest = work.checkpoints.latest(fit.id)
    if fit.step > 0 and (latest is None or latest.step != fit.step):
        there = "there is none" if latest is None else f"the last one is of step {latest.step}"
        raise Conflict(
            f"fit {fit.id} stands at step {fit.step} and has no checkpoint of it ({there}); resume it and pause it "
            "again, or fork it",
            code="no_checkpoint_here",
        )


def keep_recording_interval(fit: FitRecord, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with rows as often as so far, unless it says how often: its length would decide else."""
    record = request.get("record") or {}
    every = record.get("every_steps") or record_every_steps(fit)
    return {**request, "record": {**record, "every_steps": every}}


def _find_extendable(work: UnitOfWork, fit: FitRecord) -> Sequence[FitRecord]:
    """Return the variants that are extended with a fit; Conflict if it cannot be."""
    check_whole(fit)
    if not fit.terminal:
        raise Conflict(
            f"fit {fit.id} is {fit.state}; wait until it has ended, or change its epochs or steps while it is paused",
            code="not_terminal",
        )
    check_startable(work, fit)
    variants = () if fit.sweep is None else find_extendable(work, fit)
    for each in variants if fit.sweep is not None else [fit]:
        # What has ended as it should has made a last row; from an earlier step on there would be none there.
        if each.state is FitState.SUCCEEDED:
            check_checkpoint(work, each)
    return variants


def _extend_sweep(
    sweep: FitRecord, extension: Extension, variants: Sequence[FitRecord], extended: Sequence[FitRecord]
) -> FitRecord:
    """Return the sweep as it is with these of its variants made longer."""
    terms, changed = sweep_config_of(sweep), {variant.id: variant for variant in extended}
    lengths = [changed.get(variant.id, variant).total_steps for variant in variants]
    if terms.rungs:
        halving = engine.sweep.SuccessiveHalving(len(variants), terms.rungs, eta=terms.eta)
        total_steps = halving.total_steps(max(variant.total_steps for variant in extended))
    else:
        total_steps = sum(lengths)
    request = sweep.request
    if request["sweep"]["parameters"].keys().isdisjoint(LENGTHS):
        request = {name: value for name, value in request.items() if name not in LENGTHS}
        request[extension.unit] = max(variant.request[extension.unit] for variant in extended)
    each = max(terms.fit_bytes, *(variant.memory_bytes or 0 for variant in extended))
    return replace(sweep, request=request, total_steps=total_steps, sweep=asdict(replace(terms, fit_bytes=each)))
