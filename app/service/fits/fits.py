"""Fits: submit, list, wait for, delete."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from app.domain.column_labels import faults_by_label
from app.domain.errors import Conflict, Draining
from app.domain.fit import FitRecord, FitState, VariantConfig
from app.domain.ids import new_id
from app.domain.messages import Log
from app.domain.runtime import Replay
from app.service.fits.admission import Admission
from app.service.fits.event_log import record_log, record_state
from app.service.fits.forks import Fork, find_fork
from app.service.fits.inputs import FitInputs, InputReader
from app.service.fits.limits import FitLimits, read_deadline, read_priority
from app.service.fits.retention import remove_fit
from app.service.fits.view import FitView, build_view
from app.service.resources.datasets import Ingestion
from app.service.resources.idempotency import SaveResponse
from app.service.resources.model_classes import complete_classes
from app.service.resources.notifier import Notifier
from app.service.resources.read_through_cache import ReadThroughCache
from app.service.resources.storage import StorageContext
from app.service.resources.workers import WorkerPool
from app.store.lists import ALL, Filters, check_filter_id
from app.store.pages import Page, PageRequest
from app.store.unit_of_work import UnitOfWork

RECENT_MAX = 1024


class Fits:
    """The use cases of fits."""

    def __init__(
        self,
        storage: StorageContext,
        ingestion: Ingestion,
        notifier: Notifier,
        worker_pool: WorkerPool,
        limits: FitLimits,
        admission: Admission,
    ) -> None:
        """Queue fits that `admission` accepts, within `limits`, for the `worker_pool`; notify by `notifier`."""
        self._store = storage.store
        self._integrity = storage.integrity
        self._inputs = InputReader(storage.store, ingestion, storage.clock, limits.graph)
        self._sweeper = storage.sweeper
        self._space = storage.space
        self._notifier = notifier
        self._worker_pool = worker_pool
        self._limits = limits
        self._clock = storage.clock
        self._admission = admission
        self._cache: ReadThroughCache[FitView] = ReadThroughCache(
            0 if storage.store.is_shared else RECENT_MAX, lambda view: view.small
        )
        storage.store.on_change(lambda fit_id: self._cache.renew(fit_id, self._read))

    def submit(
        self, request: Mapping[str, Any], save_response: SaveResponse[FitView], replay: Replay | None = None
    ) -> FitView:
        """Check a fit in full and queue it; an inline graph or dataset is stored as a new resource.

        A fit with `start_paused` waits to be resumed. A fork inherits omitted fields from the request of its origin.
        `replay` is the fit that it reproduces. Raises Invalid with every fault found, Corrupt if the checkpoint or a
        dataset is damaged, TooLarge beyond the memory, QueueFull, StorageFull, and Draining while the server is
        stopping.
        """
        if self._notifier.closed:
            raise Draining("the server is stopping and takes no new fits; try again when it is back")
        self._space.check()
        with self._sweeper.paused() as stored:
            fork, asked = self._fork(request), request.get("classes") or ()
            request = request if fork is None else fork.completed(request)
            inputs = self._inputs.read(request, stored)
            request = inputs.request
            self._check_inputs(inputs, fork)
            with faults_by_label(inputs.labels):
                request = complete_classes(request, inputs.definition.inputs, inputs.datasets, asked)
                runtime = None if fork is None else fork.runtime_of(request)
                fit, *variants = self._build_records(request, inputs, runtime)
            fit = replace(fit, replay=None if replay is None else asdict(replay))
            if fork is not None:
                fork.check(request, inputs, fit.total_steps)
            with self._store.begin() as work:
                inputs.store(work)
                self._limits.check_queue(work)
                fit = self._add(work, fit) if fork is None else fork.begin(work, fit)
                record_state(work, fit)
                for finding in inputs.graph.report["findings"]:
                    if finding.get("severity") == "warning":
                        place = f"{finding['pointer']}: " if finding["pointer"] else ""
                        record_log(work, fit.id, Log("warning", place + finding["detail"], finding["code"]))
                for variant in variants:
                    record_state(work, self._add(work, variant))
                view = build_view(work, fit)
                save_response(work, view)
                work.after_commit(self._worker_pool.wake)
        return view

    def _check_inputs(self, inputs: FitInputs, fork: Fork | None) -> None:
        """Raise Corrupt if an input is known to be damaged: the fit could not start."""
        if fork is not None:
            self._integrity.checkpoint(fork.checkpoint, "/from_checkpoint")
        for place, datasets in (("/dataset", inputs.datasets), ("/validation/dataset", inputs.validation)):
            for dataset in datasets:
                self._integrity.check_marked(dataset, place)

    def get(self, fit_id: str) -> FitView:
        """Return the fit; NotFound if there is none."""
        return self._cache.read(fit_id, self._read)

    def cached(self, fit_id: str) -> FitView | None:
        """Return the fit if its current version is in memory; for event loops. None where servers share a database."""
        return self._cache.get(fit_id)

    async def wait(
        self, fit_id: str, *, seconds: float, any_change: bool = False, changed: Callable[[FitView], bool] | None = None
    ) -> FitView:
        """Return the fit once it is terminal, `changed` says so of it, it has changed (if `any_change` will do), or
        `seconds` are over. Holds neither a thread nor the database while it waits.
        """
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        first = None
        with self._notifier.subscribe(fit_id) as subscription:
            while True:
                cached = self.cached(fit_id)
                view = await asyncio.to_thread(self.get, fit_id) if cached is None else cached
                first = first or view
                settled = view.fit.terminal or (any_change and view.fit.version != first.fit.version)
                left = end - clock()
                if settled or left <= 0 or self._notifier.closed or (changed is not None and changed(view)):
                    return view
                await subscription.wait(left)

    def list(
        self,
        page: PageRequest,
        filters: Filters = ALL,
        *,
        parent: str | None = None,
        origin: str | None = None,
    ) -> Page[FitView]:
        """Return a page of the fits that meet `filters`, and that were forked from the fit `origin` if it is given.

        Variants of sweeps are listed where they are asked for by their `parent`. Invalid if there is no fit of the id
        that is given for it, or for `origin`.
        """
        with self._store.read() as work:
            fits = work.fits.list(page, filters, parent=parent, origin=origin)
            if not fits.items:
                check_filter_id("parent", "fit", parent, work.fits.get)
                check_filter_id("origin", "fit", origin, work.fits.get)
            return Page(tuple(build_view(work, fit) for fit in fits.items), fits.next_cursor, fits.findings)

    def delete(self, fit_id: str) -> None:
        """Delete a terminal fit with its event log, checkpoints and variants (see `remove_fit`)."""
        with self._store.begin() as work:
            remove_fit(work, work.fits.get(fit_id), self._sweeper, self._notifier.notify)

    def variants(self, fit_id: str) -> FitView:
        """Return a sweep with all its variants; raise Conflict if the fit is not a sweep."""
        view = self.get(fit_id)
        if view.fit.sweep is None:
            raise Conflict(f"fit {fit_id} has no variants: it was submitted without a sweep", code="no_sweep")
        return view

    def _read(self, fit_id: str) -> FitView:
        with self._store.read() as work:
            return build_view(work, work.fits.get(fit_id))

    def _build_records(
        self, request: Mapping[str, Any], inputs: FitInputs, runtime: Mapping[str, Any] | None
    ) -> tuple[FitRecord, ...]:
        """Return the new fit and, if it is a sweep, its variants; raise Invalid or TooLarge if it cannot be run."""
        if request.get("sweep") is None:
            admitted = self._admission.fit(inputs.candidate(request, runtime))
            fit = self._new_record(request, inputs, admitted.estimate.total_steps)
            return (replace(fit, memory_bytes=admitted.memory_bytes),)
        sweep = self._admission.sweep(inputs.candidate(request))
        # A variant that ends its processes is to fail before the sweep does, which then goes on without it.
        parent = replace(
            self._new_record(request, inputs, sweep.total_steps),
            attempts_max=self._limits.attempts_max + 1,
            sweep=asdict(sweep.terms),
        )
        variants = [
            replace(
                self._new_record(variant.request, inputs, variant.total_steps),
                state=FitState.QUEUED,
                phase=FitState.QUEUED.value,
                deadline_at=None,
                parent_id=parent.id,
                variant=asdict(VariantConfig(index, dict(variant.parameters), [])),
            )
            for index, variant in enumerate(sweep.variants)
        ]
        return (parent, *variants)

    def _fork(self, request: Mapping[str, Any]) -> Fork | None:
        if request.get("from_checkpoint") is None:
            return None
        with self._store.read() as work:
            return find_fork(work, request)

    def _add(self, work: UnitOfWork, fit: FitRecord) -> FitRecord:
        work.fits.add(fit)
        return fit

    def _new_record(self, request: Mapping[str, Any], inputs: FitInputs, total_steps: int) -> FitRecord:
        first = inputs.datasets[0].id
        dataset = first if inputs.rows_are_new else request["dataset"]
        state = FitState.PAUSED if request.get("start_paused") else FitState.QUEUED
        labels, now = dict(request.get("labels") or {}), self._clock.now()
        return FitRecord(
            id=new_id("fit"),
            state=state,
            phase=state.value,
            graph_id=inputs.graph.id,
            dataset_id=first,
            request={**_without_name(request), "graph": inputs.graph.id, "dataset": dataset},
            labels=labels,
            step=0,
            total_steps=total_steps,
            epoch=0,
            latest={},
            best=None,
            attempt=0,
            attempts_max=self._limits.attempts_max,
            error=None,
            created_at=now,
            started_at=None,
            finished_at=None,
            priority=read_priority(request),
            version=1,
            deadline_at=read_deadline(request, now),
            share=self._limits.share(labels),
            name=request.get("name") or "",
        )


def _without_name(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides about the run: the name may change, and is kept apart."""
    return {field: value for field, value in request.items() if field != "name"}
