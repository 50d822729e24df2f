"""Assignments: what the process of an attempt needs, and the checkpoint that it resumes from."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import engine
from app.domain.errors import CheckpointCorrupt, Corrupt, TooLarge
from app.domain.fit import TERMINAL, FitRecord, Origin, SweepConfig, VariantConfig, sweep_config_of
from app.domain.messages import Assignment, Log, SweepShare, VariantShare
from app.domain.records import CheckpointRecord, DatasetRecord
from app.domain.replicas import placement_of
from app.domain.runtime import Runtime, allot
from app.service.attempts.checkpoint_import import SpoolDirs
from app.service.attempts.leadership import SOLE_SERVER, Leadership
from app.service.attempts.progress import Claim, MemoryNeed
from app.service.fits.admission import recipe_of, replicas_of
from app.service.fits.event_log import record_log
from app.service.resources.blobs import Integrity
from app.service.resources.memory import MemoryConfig
from app.service.resources.model_classes import (
    column_encodings,
    model_classes,
    recoding_tables,
    text_names,
    validation_encodings,
)
from app.service.resources.model_images import recipe_images
from app.store.unit_of_work import Store, UnitOfWork

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The checkpoint file to resume from, and how to restore it if the fit was forked from it; no file: a new start."""

    resume_from: str | None = None
    fork: Literal["all", "parameters"] | None = None


class ResumePoints:
    """Finds intact checkpoints; damaged ones are skipped, and kept so that they can be repaired."""

    def __init__(self, store: Store, integrity: Integrity, notify: Callable[[str], None]) -> None:
        """Open by `integrity` the files of the checkpoints in `store`."""
        self._store = store
        self._integrity = integrity
        self._notify = notify

    def select(self, fit: FitRecord, checkpoints: Iterable[CheckpointRecord]) -> ResumePoint:
        """Return the first intact one of the fit's `checkpoints`, newest first; damaged ones are logged.

        Corrupt for a fork with damaged checkpoints only: it cannot start without one.
        """
        damage: Corrupt | None = None
        for checkpoint in checkpoints:
            try:
                path = self._integrity.checkpoint(checkpoint)
            except Corrupt as error:
                damage = error
                self._record_damaged(fit.id, checkpoint, error)
            else:
                return ResumePoint(str(path), _fork_mode(fit, checkpoint))
        if fit.origin is not None:
            origin = Origin(**fit.origin)
            detail = (
                f"no checkpoint of the fit is whole, and it was forked from checkpoint {origin.checkpoint}, without "
                "which it cannot begin; upload the bytes of that again and resume the fit, or fork it from another one"
            )
            problem = "is missing" if damage is None else damage.problem
            raise CheckpointCorrupt(detail, blob=origin.digest, problem=problem)
        return ResumePoint()

    def _record_damaged(self, fit_id: str, checkpoint: CheckpointRecord, error: Corrupt) -> None:
        which = f"checkpoint {checkpoint.id} of step {checkpoint.step}"
        text = f"the fit does not go on from {which}: its file {error.problem}"
        _logger.error("fit %s: %s", fit_id, text)
        with self._store.begin() as work:
            record_log(work, fit_id, Log("error", text, CheckpointCorrupt.code))
            work.after_commit(partial(self._notify, fit_id))


def _fork_mode(fit: FitRecord, checkpoint: CheckpointRecord) -> Literal["all", "parameters"] | None:
    """Return how to begin with the checkpoint, if it is not one of the fit's making."""
    origin = None if fit.origin is None else Origin(**fit.origin)
    return origin.restore if origin is not None and origin.copy == checkpoint.id else None


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """How attempts are run.

    Attributes:
        workers: fits that run at a time, between which the cores are divided.
        checkpoint_seconds: the interval of checkpoints by the clock, as far as they are cheap.
        kill_at_op: kill the first process of each fit before this disk operation (for tests of durability).
        memory: the memory limits.
        tenant_running: fits of one tenant that run at a time.
        leadership: whether this server runs the fits, where several share a database.
    """

    workers: int = 1
    checkpoint_seconds: float = 30.0
    kill_at_op: int | None = None
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    tenant_running: int | None = None
    leadership: Leadership = SOLE_SERVER


class Assignments:
    """Builds assignments."""

    def __init__(
        self, store: Store, integrity: Integrity, resume_points: ResumePoints, staging: SpoolDirs, terms: WorkerConfig
    ) -> None:
        """Look resources up in `store`; processes read files that `integrity` finds, and write files in `staging`."""
        self._store = store
        self._integrity = integrity
        self._resume_points = resume_points
        self._spool = staging
        self._terms = terms

    def build_assignment(self, claim: Claim) -> Assignment:
        """Return the assignment of an attempt; NotFound or Corrupt if an input is missing or damaged.

        The process resumes from the newest intact checkpoint. TooLarge if it needs more memory than there is
        now.
        """
        fit = claim.fit
        self._check_memory(claim.need)
        with self._store.read() as work:
            graph = work.graphs.get(fit.graph_id)
            datasets = [work.datasets.get(dataset_id) for dataset_id in fit.dataset_ids]
            validation = [work.datasets.get(dataset_id) for dataset_id in fit.validation_ids]
            variants = work.fits.variants(fit.id) if fit.sweep is not None else ()
            checkpoints = [(each, work.checkpoints.kept(each.id)) for each in (fit, *variants) if not each.terminal]
        runtime = self._runtime(fit)
        inputs, feeds = graph.definition.get("inputs", {}), fit.request.get("feeds") or {}
        encodings = column_encodings(model_classes(fit.request, inputs, datasets), feeds, inputs, datasets)
        held_out = validation_encodings(fit.request, encodings, inputs, validation)
        resume_points = {each.id: self._resume_points.select(each, checkpoints) for each, checkpoints in checkpoints}
        images = recipe_images(fit.request, inputs, datasets)
        return Assignment(
            fit_id=fit.id,
            attempt=fit.attempt,
            token=claim.token,
            definition=graph.definition,
            request={**recipe_of(fit.request), **images},
            columns=self._columns(datasets),
            validation_columns=self._columns(validation) if validation else None,
            recodings=recoding_tables(datasets, encodings),
            validation_recodings=recoding_tables(validation, held_out),
            texts=text_names(fit.request, datasets, encodings),
            validation_texts=text_names(fit.request, validation, held_out),
            resume_from=resume_points[fit.id].resume_from,
            staging=str(self._spool.create(claim.token)),
            runtime=runtime.to_json(),
            replicas=replicas_of(fit.request),
            placement=placement_of(fit.request),
            sweep=None
            if fit.sweep is None
            else self._build_sweep_share(fit, variants, resume_points, runtime, images).to_json(),
            fork=resume_points[fit.id].fork,
            reopened_at=fit.reopened_at,
            checkpoint_seconds=self._terms.checkpoint_seconds,
            kill_at_op=self._terms.kill_at_op if fit.attempt == 1 else None,
            memory_bytes=claim.need.each,
        )

    def memory_need(self, work: UnitOfWork, fit: FitRecord) -> MemoryNeed:
        """Return the memory that the processes of a fit need."""
        if fit.sweep is None:
            each = fit.memory_bytes
            return MemoryNeed(each, None if each is None else each * replicas_of(fit.request))
        terms = sweep_config_of(fit)
        left = sum(standing.state not in TERMINAL for standing in work.fits.standings(fit.id))
        at_once = terms.fit_bytes * max(1, min(self._threads(terms, self._runtime(fit)), left))
        return MemoryNeed(at_once, at_once)

    def _check_memory(self, need: MemoryNeed) -> None:
        budget = self._terms.memory.budget
        if need.total is not None and need.total > budget:
            detail = f"the fit needs about {need.total} bytes of memory; this server gives {budget}, less than before"
            raise TooLarge(f"{detail}: give it more, and resume the fit", limit=budget, code="memory_exceeded")

    def _threads(self, terms: SweepConfig, runtime: Runtime) -> int:
        """Return how many variants of a sweep may be worked on at a time."""
        return min(runtime.threads, max(1, self._terms.memory.budget // max(1, terms.fit_bytes)))

    def _runtime(self, fit: FitRecord) -> Runtime:
        resources = fit.request.get("resources") or {}
        return allot(resources, fit.runtime, cores=engine.usable_cores(), workers=self._terms.workers)

    def _columns(self, datasets: Iterable[DatasetRecord]) -> dict[str, list[str]]:
        """Return the files of each column, in the order of the datasets."""
        files: defaultdict[str, list[str]] = defaultdict(list)
        for dataset in datasets:
            for name, paths in self._integrity.columns(dataset).items():
                files[name] += paths
        return dict(files)

    def _build_sweep_share(
        self,
        sweep: FitRecord,
        variants: Sequence[FitRecord],
        resume_points: Mapping[str, ResumePoint],
        runtime: Runtime,
        images: Mapping[str, Any],
    ) -> SweepShare:
        """Return the part of the assignment that describes the variants of a sweep."""
        terms = sweep_config_of(sweep)
        shares = [
            VariantShare(
                fit_id=fit.id,
                request={**recipe_of(fit.request), **images},
                resume_from=resume_points[fit.id].resume_from if fit.id in resume_points else None,
                reached=VariantConfig(**(fit.variant or {})).reached,
                ended=fit.terminal,
                reopened_at=fit.reopened_at,
            )
            for fit in variants
        ]
        threads = self._threads(terms, runtime)
        return SweepShare(terms.monitor, terms.mode, terms.eta, terms.rungs, threads, shares)
