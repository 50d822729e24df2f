"""Fits: submit, look at, wait for, cancel, label, delete."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import engine
from app.domain.attempt import Attempt
from app.domain.clock import Clock
from app.domain.dataset import DatasetRecord
from app.domain.errors import AdjointError, Conflict, Draining, Finding, NotFound, QueueFull
from app.domain.fit import CLAIMABLE, FitRecord, FitState, ids_in
from app.domain.graph import GraphRecord
from app.domain.ids import is_id, new_id
from app.domain.replay import Replay
from app.domain.sweep import WAITING, Standing, VariantTerms
from app.service.admission import Candidate, admit, admit_sweep
from app.service.blob_sweeper import BlobSweeper
from app.service.definitions import new_graph, read_definition
from app.service.disk_space import DiskSpace
from app.service.engine_faults import invalid
from app.service.fit_removal import remove_fit
from app.service.idempotency import Keep
from app.service.ingestion import Ingestion, UploadTerms
from app.service.journal import record_state
from app.service.sweep_journal import close_variants
from app.service.wakes import Wakes
from app.service.workforce import Workforce
from app.store.pages import Page, PageRequest
from app.store.unit_of_work import Store, UnitOfWork

PRIORITIES: Mapping[str, int] = {"low": -1, "normal": 0, "high": 1}
LABELS_MAX = 64


@dataclass(frozen=True, slots=True)
class FitView:
    """A fit with the processes that worked on it, and the seconds it will presumably still take."""

    fit: FitRecord
    attempts: tuple[Attempt, ...]
    eta_seconds: float | None = None
    standings: tuple[Standing, ...] = ()

    @property
    def record_every_steps(self) -> int:
        """The steps from one training row to the next."""
        record = self.fit.request.get("record") or {}
        return engine.Record(every_steps=record.get("every_steps")).every(self.fit.total_steps)


@dataclass(frozen=True, slots=True)
class FitTerms:
    """Limits on fits: how many may wait, and how many processes each may lose."""

    max_queue: int
    attempts_max: int


class Fits:
    """The use cases of fits."""

    def __init__(
        self,
        store: Store,
        ingestion: Ingestion,
        sweeper: BlobSweeper,
        space: DiskSpace,
        wakes: Wakes,
        workforce: Workforce,
        terms: FitTerms,
        clock: Clock,
    ) -> None:
        """Queue fits in `store` for the `workforce`; tell watchers by `wakes`."""
        self._store = store
        self._ingestion = ingestion
        self._sweeper = sweeper
        self._space = space
        self._wakes = wakes
        self._workforce = workforce
        self._terms = terms
        self._clock = clock

    def submit(self, request: Mapping[str, Any], keep: Keep[FitView], replay: Replay | None = None) -> FitView:
        """Check a fit in full and queue it; what it brings inline becomes a graph and a dataset of its own.

        A `replay` says which fit it runs again.

        Invalid with everything that is wrong, TooLarge beyond the memory, QueueFull, StorageFull, Draining while
        stopping.
        """
        if self._wakes.closed:
            raise Draining("the server is stopping and takes no new fits; try again when it is back")
        self._space.check()
        with self._sweeper.holding() as stored:
            parts = self._resolve(request, stored)
            fit, *variants = self._drawn_up(request, parts)
            fit = replace(fit, replay=None if replay is None else asdict(replay))
            with self._store.begin() as work:
                parts.store(work)
                self._check_queue(work)
                for each in (fit, *variants):
                    work.fits.add(each)
                    record_state(work, each)
                view = _view(work, fit)
                keep(work, view)
                work.after_commit(self._workforce.wake)
        return view

    def get(self, fit_id: str) -> FitView:
        """Return the fit; NotFound if there is none."""
        with self._store.begin() as work:
            return _view(work, work.fits.get(fit_id))

    async def wait(
        self, fit_id: str, *, seconds: float, any_change: bool = False, news: Callable[[FitView], bool] | None = None
    ) -> FitView:
        """Return the fit once it is terminal, `news` says so of it, it has changed (if `any_change` will do), or
        `seconds` are over. Holds neither a thread nor the database while it waits.
        """
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        first = None
        with self._wakes.watch(fit_id) as watch:
            while True:
                view = await asyncio.to_thread(self.get, fit_id)
                first = first or view
                told = view.fit.terminal or (any_change and view.fit.version != first.fit.version)
                left = end - clock()
                if told or left <= 0 or self._wakes.closed or (news is not None and news(view)):
                    return view
                await watch.wait(left)

    def list(
        self, page: PageRequest, state: FitState | None, label: tuple[str, str] | None, parent: str | None = None
    ) -> Page[FitView]:
        """Return a page of fits, of those in `state` and with `label` where these are given.

        Variants of sweeps are listed where they are asked for by their `parent`.
        """
        with self._store.begin() as work:
            fits = work.fits.list(page, state=state, label=label, parent=parent)
            return Page(tuple(_view(work, fit) for fit in fits.items), fits.next_cursor)

    def cancel(self, fit_id: str) -> FitView:
        """Ask for the fit to stop: at once if no process works on it, else after a last checkpoint.

        With a sweep all its variants stop; without one of them the sweep goes on. To cancel what is cancelled changes
        nothing; Conflict if it has ended otherwise.
        """
        with self._store.begin() as work:
            fit = work.fits.get(fit_id)
            if fit.state not in (FitState.CANCELLING, FitState.CANCELLED):
                fit = self._cancel(work, fit)
                close_variants(work, fit, self._wakes.notify)
            return _view(work, fit)

    def label(self, fit_id: str, changes: Mapping[str, str | None], check: Callable[[FitView], None]) -> FitView:
        """Set labels, and remove those that are None, unless `check` raises at the sight of the fit."""
        with self._store.begin() as work:
            fit = work.fits.get(fit_id)
            check(_view(work, fit))
            merged = {**fit.labels, **changes}
            labels = {key: value for key, value in merged.items() if value is not None}
            if len(labels) > LABELS_MAX:
                raise invalid([Finding("/labels", "too_many", f"a fit has at most {LABELS_MAX} labels")])
            fit = work.fits.update(replace(fit, labels=labels))
            work.after_commit(lambda: self._wakes.notify(fit_id))
            return _view(work, fit)

    def delete(self, fit_id: str) -> None:
        """Forget a terminal fit with its journal, its checkpoints and its variants (see `remove_fit`)."""
        with self._store.begin() as work:
            remove_fit(work, work.fits.get(fit_id), self._sweeper, self._wakes.notify)

    def variants(self, fit_id: str) -> FitView:
        """Return a sweep with all its variants; Conflict if the fit is none."""
        view = self.get(fit_id)
        if view.fit.sweep is None:
            raise Conflict(f"fit {fit_id} has no variants: it was submitted without a sweep", code="no_sweep")
        return view

    def _cancel(self, work: UnitOfWork, fit: FitRecord) -> FitRecord:
        if fit.terminal:
            raise Conflict(f"fit {fit.id} has {fit.state}; there is nothing left to cancel", code="already_terminal")
        waiting = fit.state in CLAIMABLE or fit.state is FitState.PAUSED or fit.phase == WAITING
        if waiting:
            work.attempts.end_open(fit.id, "cancelled")
            fit = work.fits.update(fit.to(FitState.CANCELLED, phase="cancelled", finished_at=work.now))
        else:
            fit = work.fits.update(fit.to(FitState.CANCELLING, phase="cancelling"))
        if fit.parent_id is not None:
            # The sweep's record changes with it: its ranking names the states of its variants.
            work.fits.update(work.fits.get(fit.parent_id))
            work.after_commit(partial(self._wakes.notify, fit.parent_id))
        if fit.parent_id is not None or not waiting:
            work.after_commit(partial(self._workforce.cancel, fit.parent_id or fit.id, fit.parent_id and fit.id))
        record_state(work, fit)
        work.after_commit(partial(self._wakes.notify, fit.id))
        return fit

    def _drawn_up(self, request: Mapping[str, Any], parts: "_Parts") -> tuple[FitRecord, ...]:
        """Return the new fit and, if it is a sweep, its variants; Invalid or TooLarge if it cannot be run."""
        if request.get("sweep") is None:
            return (self._new(request, parts, admit(parts.candidate).total_steps),)
        sweep = admit_sweep(parts.candidate)
        # A variant that ends its processes is to fail before the sweep does, which then goes on without it.
        parent = replace(
            self._new(request, parts, sweep.total_steps),
            attempts_max=self._terms.attempts_max + 1,
            sweep=asdict(sweep.terms),
        )
        variants = [
            replace(
                self._new(variant.request, parts, variant.total_steps),
                parent_id=parent.id,
                variant=asdict(VariantTerms(index, dict(variant.parameters), [])),
            )
            for index, variant in enumerate(sweep.variants)
        ]
        return (parent, *variants)

    def _resolve(self, request: Mapping[str, Any], stored: set[str]) -> "_Parts":
        graph, dataset = request["graph"], request["dataset"]
        with self._store.begin() as work:
            kept_graph = _referred("/graph", "graph", graph, work.graphs.get) if isinstance(graph, str) else None
            inline = isinstance(dataset, Mapping)
            kept_rows = () if inline else _all_referred("/dataset", dataset, work)
            held_out = (request.get("validation") or {}).get("dataset")
            validation = _all_referred("/validation/dataset", held_out, work)
        definition = read_definition(graph if kept_graph is None else kept_graph.definition, "/graph")
        record = kept_graph or new_graph(definition, self._clock)
        rows = (self._ingest(dataset, stored),) if inline else kept_rows
        return _Parts(Candidate(request, definition, rows, validation), record, kept_graph is None, inline)

    def _ingest(self, document: Mapping[str, Any], stored: set[str]) -> DatasetRecord:
        with self._ingestion.open() as upload:
            upload.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())
            try:
                return self._ingestion.read(upload, UploadTerms("json"), stored)
            except AdjointError as error:
                error.findings = tuple(replace(fault, pointer=f"/dataset{fault.pointer}") for fault in error.findings)
                raise

    def _new(self, request: Mapping[str, Any], parts: "_Parts", total_steps: int) -> FitRecord:
        resources = request.get("resources") or {}
        first = parts.candidate.datasets[0].id
        dataset = first if parts.rows_are_new else request["dataset"]
        return FitRecord(
            id=new_id("fit"),
            state=FitState.QUEUED,
            phase="queued",
            graph_id=parts.graph.id,
            dataset_id=first,
            request={**request, "graph": parts.graph.id, "dataset": dataset},
            labels=dict(request.get("labels") or {}),
            step=0,
            total_steps=total_steps,
            epoch=0,
            latest={},
            best=None,
            attempt=0,
            attempts_max=self._terms.attempts_max,
            error=None,
            created_at=self._clock.now(),
            started_at=None,
            finished_at=None,
            priority=PRIORITIES[resources.get("priority", "normal")],
            version=1,
        )

    def _check_queue(self, work: UnitOfWork) -> None:
        if work.fits.count([FitState.QUEUED]) >= self._terms.max_queue:
            raise QueueFull(f"{self._terms.max_queue} fits are waiting, which is as many as this server takes")


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a fit is made of, and which of it came inline and is yet to be stored."""

    candidate: Candidate
    graph: GraphRecord
    graph_is_new: bool
    rows_are_new: bool

    def store(self, work: UnitOfWork) -> None:
        """Store what is new; NotFound if what is not was deleted meanwhile."""
        if self.graph_is_new:
            work.graphs.add(self.graph)
        else:
            work.graphs.get(self.graph.id)
        if self.rows_are_new:
            work.datasets.add(*self.candidate.datasets)
        kept = () if self.rows_are_new else self.candidate.datasets
        for dataset in (*kept, *self.candidate.validation):
            work.datasets.get(dataset.id)


def _referred(pointer: str, prefix: str, thing_id: str, get: Any) -> Any:
    """Return what the request refers to; Invalid, with a pointer to the reference, if there is no such thing."""
    if is_id(prefix, thing_id):
        try:
            return get(thing_id)
        except NotFound as error:
            raise invalid([Finding(pointer, "not_found", error.detail)]) from error
    raise invalid(
        [Finding(pointer, "not_found", f"this is not the id of a thing that exists; such ids start with {prefix}_")]
    )


def _all_referred(pointer: str, named: str | Sequence[str] | None, work: UnitOfWork) -> tuple[DatasetRecord, ...]:
    """Return the datasets that a field names: one, several or none."""
    listed = named is not None and not isinstance(named, str)
    return tuple(
        _referred(f"{pointer}/{place}" if listed else pointer, "ds", dataset_id, work.datasets.get)
        for place, dataset_id in enumerate(ids_in(named))
    )


def _view(work: UnitOfWork, fit: FitRecord) -> FitView:
    attempts = work.attempts.for_fit(fit.id) if fit.attempt else ()
    standings = work.fits.standings(fit.id) if fit.sweep is not None else ()
    return FitView(fit, attempts, _eta_seconds(fit, work.now), standings)


def _eta_seconds(fit: FitRecord, now: datetime) -> float | None:
    """Return the time that the steps left take at the pace so far; unknown unless the fit is running."""
    if fit.state is not FitState.RUNNING or fit.started_at is None or fit.step == 0:
        return None
    return round((now - fit.started_at).total_seconds() * (fit.total_steps - fit.step) / fit.step, 3)
