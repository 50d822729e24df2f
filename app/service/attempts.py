"""Attempts: the processes that work on fits, as far as the database is concerned.

What a supervisor of processes needs to know and to write down, each in one unit of work. Everything a process reports
passes the fence of its attempt's token first: a process that was given up can change nothing any more.
"""

import hashlib
import logging
import secrets
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol, TypeVar

import engine
from app.blobs.store import BlobStore
from app.domain.checkpoint import CheckpointRecord
from app.domain.clock import Clock
from app.domain.dataset import DatasetRecord
from app.domain.errors import NotFound
from app.domain.fit import FitRecord
from app.domain.ids import new_id
from app.domain.messages import Assignment, CheckpointWritten, Log
from app.service.admission import recipe_of, replicas_of
from app.service.attempt_journal import AttemptJournal, record_log
from app.service.attempt_progress import Died, Progress
from app.service.blob_sweeper import BlobSweeper
from app.service.journal import record_state
from app.store.unit_of_work import Store, UnitOfWork

LOST = Died("lost", "the server went down; the fit goes on from its last checkpoint")

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Claim:
    """A fit that this server took, and the attempt it is about to make."""

    fit: FitRecord
    token: str

    @cached_property
    def policy(self) -> engine.CheckpointPolicy:
        """Which checkpoints the fit keeps."""
        return engine.read_recipe(recipe_of(self.fit.request)).checkpoint


@dataclass(frozen=True, slots=True)
class Recorded:
    """The fit after news were written down.

    `ended` tells that the attempt is over, `losses` how many attempts in a row have crashed by then.
    """

    fit: FitRecord
    ended: bool
    losses: int


class Attempts:
    """The use cases of attempts."""

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        sweeper: BlobSweeper,
        staging: Path,
        notify: Callable[[str], None],
        clock: Clock,
    ) -> None:
        """Keep attempts in `store` and call `notify` with a fit's id after each commit.

        Each attempt writes to a folder of its own below `staging`, which is on the file system of `blobs`.
        """
        self._store = store
        self._blobs = blobs
        self._sweeper = sweeper
        self._staging = staging
        self._notify = notify
        self._clock = clock

    def recover(self) -> None:
        """Take back what an earlier server was working on: its processes are gone. Call it before the first claim."""
        shutil.rmtree(self._staging, ignore_errors=True)
        self._staging.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._store.begin() as work:
            for attempt in work.attempts.unended():
                journal = AttemptJournal(work, attempt)
                journal.end(LOST)
                journal.save()
                work.after_commit(partial(self._notify, attempt.fit_id))

    def claim(self, skip: Collection[str] = ()) -> Claim | None:
        """Take the next fit in turn, but none of `skip`, and begin an attempt; None if none waits."""
        token = secrets.token_hex(16)
        with self._store.begin() as work:
            fit = work.fits.claim(skip=skip)
            if fit is None:
                return None
            work.attempts.start(fit.id, fit.attempt, token)
            record_state(work, fit)
            work.after_commit(partial(self._notify, fit.id))
        return Claim(fit, token)

    def assignment(self, claim: Claim) -> Assignment:
        """Return what the attempt's process needs to know; NotFound if something it needs is gone.

        The process goes on from the furthest checkpoint whose file is sound.
        """
        fit = claim.fit
        with self._store.begin() as work:
            graph = work.graphs.get(fit.graph_id)
            datasets = [work.datasets.get(dataset_id) for dataset_id in fit.dataset_ids]
            validation = [work.datasets.get(dataset_id) for dataset_id in fit.validation_ids]
            checkpoints = work.checkpoints.kept(fit.id)
        staging = self._staging / claim.token
        staging.mkdir(mode=0o700)
        return Assignment(
            fit_id=fit.id,
            attempt=fit.attempt,
            token=claim.token,
            definition=graph.definition,
            request=recipe_of(fit.request),
            columns=self._columns(datasets),
            validation_columns=self._columns(validation) if validation else None,
            resume_from=self._sound(fit, checkpoints),
            staging=str(staging),
            executor="numpy",
            replicas=replicas_of(fit.request),
        )

    def record(self, claim: Claim, progress: Progress) -> Recorded:
        """Write news down, as a whole or, if this raises, not at all; it can then be called again with the same.

        Raises Conflict (`fenced`) or NotFound if the attempt does not count any more: its process is to be killed;
        StorageFull or DatabaseBusy if the time is not right.
        """
        with self._sweeper.holding():
            self._adopt(claim, progress)
            with self._store.begin() as work:
                journal = AttemptJournal(work, work.attempts.guard(claim.fit.id, claim.token))
                discarded = _apply(journal, work, claim, progress)
                losses = journal.losses() if journal.ended else 0
                fit = journal.save()
                work.after_commit(partial(self._notify, fit.id))
        self._sweeper.discard(discarded)
        if journal.ended:
            shutil.rmtree(self._staging / claim.token, ignore_errors=True)
        return Recorded(fit, journal.ended, losses)

    def _adopt(self, claim: Claim, progress: Progress) -> None:
        """Make blobs of the checkpoint files that are worth keeping, and drop the others."""
        if not progress.written:
            return
        worth = retained(progress.written, claim.policy)
        while progress.written:
            written = progress.written[0]
            record = self._adopted(claim, written, progress) if written in worth else None
            Path(written.path).unlink(missing_ok=True)
            if record is not None:
                progress.checkpoints.append(record)
            del progress.written[0]

    def _adopted(self, claim: Claim, written: CheckpointWritten, progress: Progress) -> CheckpointRecord | None:
        try:
            blob = self._blobs.adopt(Path(written.path))
        except NotFound:
            blob = None
        if blob is None or blob.digest != written.digest:
            progress.logs.append(Log("error", f"the checkpoint of step {written.step} was damaged and is not kept"))
            return None
        return CheckpointRecord(
            id=new_id("ckpt"),
            fit_id=claim.fit.id,
            graph_id=claim.fit.graph_id,
            step=written.step,
            epoch=written.epoch,
            digest=blob.digest,
            size_bytes=blob.size,
            metrics=written.metrics,
            created_at=self._clock.now(),
            is_best=written.is_best,
            deleted=False,
        )

    def _columns(self, datasets: Iterable[DatasetRecord]) -> dict[str, list[str]]:
        """Return the files of each column, in the order of the datasets."""
        files: defaultdict[str, list[str]] = defaultdict(list)
        for dataset in datasets:
            for column in dataset.columns:
                files[column.name].append(str(self._blobs.local_path(column.blob)))
        return dict(files)

    def _sound(self, fit: FitRecord, checkpoints: Iterable[CheckpointRecord]) -> str | None:
        """Return the file of the first checkpoint that is what it was when it was written; the others are deleted."""
        for checkpoint in checkpoints:
            path = self._intact(checkpoint)
            if path is not None:
                return str(path)
            _logger.error("fit %s: checkpoint %s is damaged", fit.id, checkpoint.id)
            with self._store.begin() as work:
                work.checkpoints.delete(checkpoint.id)
                text = f"checkpoint_corrupt: {checkpoint.id} of step {checkpoint.step} is damaged and was deleted"
                record_log(work, fit.id, Log("error", text))
                work.after_commit(partial(self._notify, fit.id))
            self._sweeper.discard([checkpoint.digest])
        return None

    def _intact(self, checkpoint: CheckpointRecord) -> Path | None:
        try:
            path = self._blobs.local_path(checkpoint.digest)
        except NotFound:
            return None
        with path.open("rb") as file:
            return path if hashlib.file_digest(file, "sha256").hexdigest() == checkpoint.digest else None


class _Kept(Protocol):
    """A checkpoint, wherever it is."""

    @property
    def step(self) -> int: ...

    @property
    def is_best(self) -> bool: ...


C = TypeVar("C", bound=_Kept)


def retained(checkpoints: Sequence[C], policy: engine.CheckpointPolicy) -> list[C]:
    """Return those of a fit's checkpoints that `policy` keeps: the furthest ones, always one, and the last best one."""
    furthest_first = sorted(checkpoints, key=lambda checkpoint: checkpoint.step, reverse=True)
    kept = furthest_first[: max(1, policy.keep_last)]
    best = next((checkpoint for checkpoint in furthest_first if checkpoint.is_best), None)
    if policy.keep_best and best is not None and best not in kept:
        kept.append(best)
    return kept


def _apply(journal: AttemptJournal, work: UnitOfWork, claim: Claim, progress: Progress) -> list[str]:
    """Enter all of `progress`; return the digests of blobs that may have become superfluous."""
    if progress.pid is not None:
        journal.started(progress.pid)
    if progress.cancelling:
        journal.cancelling()
    if progress.phase is not None:
        journal.phase(progress.phase, progress.total_steps)
    for entry in progress.logs:
        record_log(work, claim.fit.id, entry)
    if progress.points is not None:
        journal.points(progress.points)
    if journal.ended:
        return [checkpoint.digest for checkpoint in progress.checkpoints]
    discarded: list[str] = []
    if progress.checkpoints:
        for checkpoint in progress.checkpoints:
            journal.checkpoint(checkpoint)
        discarded = _prune(work, claim)
    if progress.verdict is not None:
        journal.end(progress.verdict)
    return discarded


def _prune(work: UnitOfWork, claim: Claim) -> list[str]:
    """Delete the checkpoints that the fit does not keep, in the commit that makes the newer ones last."""
    kept = work.checkpoints.kept(claim.fit.id)
    superfluous = [checkpoint for checkpoint in kept if checkpoint not in retained(kept, claim.policy)]
    for checkpoint in superfluous:
        work.checkpoints.delete(checkpoint.id)
    return [checkpoint.digest for checkpoint in superfluous]
