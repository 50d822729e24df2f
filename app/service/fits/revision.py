"""Changes to the request of a fit: a JSON merge patch (RFC 7396), or more epochs or steps after its end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

import engine
from app.domain.errors import Conflict, Finding, Invalid
from app.domain.fit import FitRecord, FitState, Origin, check_whole, sweep_config_of
from app.domain.messages import Log
from app.service.fits.admission import Admission, AdmittedFit, recipe_of
from app.service.fits.control import FitRequeue, check_startable
from app.service.fits.event_log import record_log
from app.service.fits.inputs import FitInputs, InputReader
from app.service.fits.limits import LABELS_MAX, FitLimits, read_deadline, read_priority
from app.service.fits.sweeps import Continuation, find_extendable
from app.service.fits.view import FitView, build_view, record_every_steps
from app.service.resources.engine_documents import engine_faults, invalid
from app.service.resources.idempotency import SaveResponse
from app.service.resources.model_classes import complete_classes
from app.service.resources.notifier import Notifier
from app.service.resources.workers import WorkerPool
from app.store.unit_of_work import Store, UnitOfWork

LENGTHS = ("epochs", "steps")


@dataclass(frozen=True, slots=True)
class Extension:
    """The additional length of a fit."""

    unit: Literal["epochs", "steps"]
    count: int


class FitExtension:
    """Queues fits that have ended for more epochs or steps."""

    def __init__(self, store: Store, inputs: InputReader, requeue: FitRequeue, admission: Admission) -> None:
        """Extend fits in `store` if `admission` accepts them."""
        self._store = store
        self._inputs = inputs
        self._requeue = requeue
        self._admission = admission

    def extend(self, fit_id: str, extension: Extension, save_response: SaveResponse[FitView]) -> FitView:
        """Queue an ended fit for more epochs or steps; it continues from its last checkpoint.

        Of a sweep, completed variants are extended; those that were not completed with the sweep are extended to the
        same length; variants that were eliminated, cancelled or failed are not. Raises Conflict if it has not ended, is
        a variant, or has no checkpoint to continue from; Invalid or TooLarge if it cannot run that long.
        """
        while True:
            with self._store.read() as work:
                fit = work.fits.get(fit_id)
                found = _find_extendable(work, fit)
            inputs = self._inputs.read(fit.request, set())
            if fit.sweep is None:
                after, extended = self._lengthen(inputs, fit, extension), []
            else:
                extended = [self._lengthen(inputs, variant, extension) for variant in found.competing]
            with self._store.begin() as work:
                now = work.fits.get(fit_id)
                if now.version != fit.version or _find_extendable(work, now) != found:
                    continue
                if fit.sweep is not None:
                    after = _extend_sweep(fit, extension, work.fits.variants(fit_id), extended)
                fit = self._requeue.queue(work, after, [*extended, *found.eliminated])
                view = build_view(work, fit)
                save_response(work, view)
                return view

    def _lengthen(self, inputs: FitInputs, fit: FitRecord, extension: Extension) -> FitRecord:
        """Return the fit with the longer request and its new number of steps."""
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
    """Raise Conflict unless the fit has a checkpoint of its current step: metric rows are not computed twice."""
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


def _find_extendable(work: UnitOfWork, fit: FitRecord) -> Continuation:
    """Return the variants that continue with a fit that is extended; raise Conflict if it cannot be extended."""
    check_whole(fit)
    if not fit.terminal:
        raise Conflict(
            f"fit {fit.id} is {fit.state}; wait until it has ended, or change its epochs or steps while it is paused",
            code="not_terminal",
        )
    check_startable(work, fit)
    found = Continuation(()) if fit.sweep is None else find_extendable(work, fit)
    for each in found.competing if fit.sweep is not None else [fit]:
        # What has ended as it should has made a last row; from an earlier step on there would be none there.
        if each.state is FitState.SUCCEEDED:
            check_checkpoint(work, each)
    return found


def _extend_sweep(
    sweep: FitRecord, extension: Extension, variants: Sequence[FitRecord], extended: Sequence[FitRecord]
) -> FitRecord:
    """Return the sweep after some of its variants were extended."""
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


def apply_merge_patch(target: Any, patch: Any) -> Any:
    """Return `target` with `patch` merged in: objects field by field, null removes a field, other values replace."""
    if not isinstance(patch, Mapping):
        return patch
    kept = dict(target) if isinstance(target, Mapping) else {}
    for name, change in patch.items():
        if change is None:
            kept.pop(name, None)
        else:
            kept[name] = apply_merge_patch(kept.get(name), change)
    return kept


Check = Callable[[FitView], None]
"""Called with a fit; raises an error if it may not be changed."""

Read = Callable[[dict[str, Any]], dict[str, Any]]
"""Validates a request as sent by a client; raises Invalid."""

NOT_TRAINING = frozenset({"name", "labels", "resources"})
"""Fields of a change that do not determine numbers."""


@dataclass(frozen=True, slots=True)
class _Revision:
    """A fit as it was read, and after the change; `altered` names the changed fields of its recipe."""

    before: FitRecord
    after: FitRecord
    altered: frozenset[str]
    begun: bool


class FitRevision:
    """The use cases that change requests.

    A request is checked in full outside of a unit of work, since this takes long; if the fit has changed in the
    meantime, the check is repeated.
    """

    def __init__(
        self,
        store: Store,
        inputs: InputReader,
        notifier: Notifier,
        worker_pool: WorkerPool,
        terms: FitLimits,
        admission: Admission,
    ) -> None:
        """Change fits in `store`; notify watchers by `notifier`, and `worker_pool`, which may start waiting fits."""
        self._store = store
        self._inputs = inputs
        self._notifier = notifier
        self._worker_pool = worker_pool
        self._terms = terms
        self._admission = admission
        self._extension = FitExtension(store, inputs, FitRequeue(notifier, worker_pool, terms), admission)

    def extend(self, fit_id: str, extension: Extension, save_response: SaveResponse[FitView]) -> FitView:
        """Queue a fit that has ended for more epochs or steps (see `FitExtension.extend`)."""
        return self._extension.extend(fit_id, extension, save_response)

    def update(self, fit_id: str, changes: Mapping[str, Any], check: Check, read: Read) -> FitView:
        """Merge changes into the fit's request, which `read` has to take then, its name and its labels, unless `check`
        raises.

        Name, labels, priority and limits of time may always change. The recipe may change in full before the first
        process, and in what a checkpoint can go on with while the fit is paused with a checkpoint of its last step.
        Conflict, Invalid or TooLarge if it may not.
        """
        while True:
            with self._store.begin() as work:
                fit = work.fits.get(fit_id)
                check(build_view(work, fit))
                revision = self._build_revision(work, fit, changes, read)
                if not revision.altered:
                    return self._store_revision(work, revision)
            revision = self._admit(revision)
            with self._store.begin() as work:
                if work.fits.get(fit_id).version == fit.version:
                    return self._store_revision(work, revision)

    def _admit_as(self, fit: FitRecord, inputs: FitInputs, request: Mapping[str, Any]) -> AdmittedFit:
        """Check a new request of a fit, which keeps the executor that it ran with."""
        return self._admission.fit(inputs.candidate(request, fit.runtime))

    def _build_revision(self, work: UnitOfWork, fit: FitRecord, changes: Mapping[str, Any], read: Read) -> _Revision:
        """Return the result of the changes; raise Conflict if the fit may not be changed so in its state."""
        asked = {name: change for name, change in changes.items() if name not in ("name", "labels")}
        request = read(apply_merge_patch(fit.request, asked)) if asked else fit.request
        altered = frozenset(
            name
            for name in changes.keys() - NOT_TRAINING
            if (name in request, request.get(name)) != (name in fit.request, fit.request.get(name))
        )
        begun = fit.attempt > 0 or (fit.origin is not None and Origin(**fit.origin).restore == "all")
        if request != fit.request:
            check_whole(fit)
        if altered or _threads(request) != _threads(fit.request):
            _check_idle(fit)
        if altered:
            check_checkpoint(work, fit)
        if altered and fit.step > 0:
            request = keep_recording_interval(fit, request)
        labels = apply_merge_patch(fit.labels, changes.get("labels") or {})
        if len(labels) > LABELS_MAX:
            raise invalid([Finding("/labels", "too_many", f"a fit has at most {LABELS_MAX} labels")])
        limits = (changes.get("resources") or {}).keys()
        after = replace(
            fit,
            request=request,
            name=(changes["name"] or "") if "name" in changes else fit.name,
            labels=labels,
            share=self._terms.share(labels),
            priority=read_priority(request),
            deadline_at=read_deadline(request, work.now) if "deadline" in limits else fit.deadline_at,
        )
        return _Revision(fit, after, altered, begun)

    def _admit(self, revision: _Revision) -> _Revision:
        """Return the revision with what follows from the recipe; Invalid or TooLarge if it cannot be run."""
        before, after = revision.before, revision.after
        inputs = self._inputs.read(after.request, set())
        if not revision.begun:
            after = replace(after, request=_complete_classes(before, after.request, inputs))
        admitted = self._admit_as(before, inputs, after.request)
        estimate = admitted.estimate
        after = replace(after, total_steps=estimate.total_steps, memory_bytes=admitted.memory_bytes)
        if not revision.begun:
            return replace(revision, after=after)
        with engine_faults():
            engine.check_continuation(
                recipe_of(before.request),
                recipe_of(after.request),
                before.step,
                steps_per_epoch=estimate.steps_per_epoch,
            )
        return replace(revision, after=replace(after, reopened_at=before.step))

    def _store_revision(self, work: UnitOfWork, revision: _Revision) -> FitView:
        before, after = revision.before, revision.after
        if after != before:
            after = work.fits.update(after)
            work.after_commit(partial(self._notifier.notify, after.id))
            # Its priority or time limits may have changed.
            work.after_commit(self._worker_pool.wake)
            work.after_commit(partial(self._worker_pool.check_requested_state, after.id))
        if revision.altered:
            text = f"from step {after.step} on with another {', '.join(sorted(revision.altered))}"
            record_log(work, after.id, Log("info", text, "changed"))
        return build_view(work, after)


def _check_idle(fit: FitRecord) -> None:
    """Raise Conflict unless the fit has no process, and none can start while it changes."""
    if fit.sweep is not None:
        raise Conflict(f"fit {fit.id} is a sweep, whose variants are made; submit another one", code="is_sweep")
    if fit.terminal:
        raise Conflict(
            f"fit {fit.id} has {fit.state}; extend it, or fork it with other hyperparameters", code="already_terminal"
        )
    untouched = fit.attempt == 0 and fit.state is FitState.QUEUED
    if not untouched and fit.state is not FitState.PAUSED:
        raise Conflict(f"fit {fit.id} is {fit.state}; pause it first and wait until it is paused", code="not_paused")


def _threads(request: Mapping[str, Any]) -> Any:
    return (request.get("resources") or {}).get("threads")


def _complete_classes(before: FitRecord, request: Mapping[str, Any], inputs: FitInputs) -> dict[str, Any]:
    """Return a changed request with the class names of every text input; those of a changed feed are new."""
    old, new = before.request, request
    known, given = old.get("classes") or {}, new.get("classes") or {}
    asked = [name for name, value in given.items() if value != known.get(name)]
    kept = {name: value for name, value in given.items() if name in asked or _feed(old, name) == _feed(new, name)}
    return complete_classes({**new, "classes": kept}, inputs.definition.inputs, inputs.datasets, asked)


def _feed(request: Mapping[str, Any], name: str) -> str:
    column: str = (request.get("feeds") or {}).get(name, name)
    return column
