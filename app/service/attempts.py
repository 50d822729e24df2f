"""Attempts: the processes that work on fits, as far as the database is concerned.

What a supervisor of processes needs to know and to write down, each in one unit of work. Everything a process reports
passes the fence of its attempt's token first: a process that was given up can change nothing any more.
"""

import logging
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path

import engine
from app.blobs.store import BlobStore
from app.domain.attempt import Attempt
from app.domain.checkpoint import CheckpointRecord
from app.domain.clock import Clock
from app.domain.dataset import DatasetRecord
from app.domain.errors import Conflict, NotFound, StorageFailed, StorageFull
from app.domain.fit import FitRecord
from app.domain.ids import new_id
from app.domain.messages import Assignment, CheckpointWritten, Finished, SweepShare, VariantShare
from app.domain.runtime import Runtime, allot
from app.domain.storage_faults import storage_faults
from app.domain.sweep import VariantTerms, terms_of
from app.durable import Durable
from app.service.admission import recipe_of, replicas_of
from app.service.attempt_journal import AttemptJournal
from app.service.attempt_news import retained, write_down
from app.service.attempt_progress import Died, Progress
from app.service.blob_sweeper import BlobSweeper
from app.service.captures import adopt_gradients
from app.service.journal import record_state
from app.service.memory import memory_budget
from app.service.replay_verdict import compared
from app.service.resumption import Beginning, Resumption
from app.service.sweep_journal import SweepJournal, close_variants
from app.service.time_limits import fail_overdue
from app.service.unkept import DAMAGED, lost, waits_for_room
from app.store.unit_of_work import Store, UnitOfWork

CHECKPOINT_SECONDS = 30.0
LOST = Died("lost", "the server went down; the fit goes on from its last checkpoint")

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Claim:
    """A fit that this server took, and the attempt it is about to make."""

    fit: FitRecord
    token: str

    @cached_property
    def policy(self) -> engine.CheckpointPolicy:
        """Which checkpoints the fit keeps, or each variant of the sweep."""
        # Not from the whole recipe: that of a sweep is complete in its variants only.
        fields = {name: value for name, value in self.fit.request.items() if name in ("checkpoint", "preset")}
        return engine.read_recipe({"epochs": 1, **fields}).checkpoint


@dataclass(frozen=True, slots=True)
class Recorded:
    """The fit after news were written down.

    `ended` tells that the attempt is over, `losses` how many attempts in a row have crashed by then.
    """

    fit: FitRecord
    ended: bool
    losses: int


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What an earlier server was working on when it ended: how many attempts, and the folders they wrote to."""

    attempts: int
    staging_folders: int


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
        workers: int = 1,
        durable: Durable | None = None,
        kill_worker_at_op: int | None = None,
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
    ) -> None:
        """Keep attempts in `store` and call `notify` with a fit's id after each commit.

        Each attempt writes to a folder of its own below `staging`, which is on the file system of `blobs`. Up to
        `workers` are made at a time. The first one of each fit is killed before its operation `kill_worker_at_op`.
        A fit writes a checkpoint at least every `checkpoint_seconds`, as far as that is cheap.
        """
        self._store = store
        self._blobs = blobs
        self._sweeper = sweeper
        self._staging = staging
        self._notify = notify
        self._clock = clock
        self._workers = workers
        self._durable = durable or Durable()
        self._kill_worker_at_op = kill_worker_at_op
        self._checkpoint_seconds = checkpoint_seconds
        self._resumption = Resumption(store, blobs, sweeper, notify)

    def recover(self) -> TakenBack:
        """Take back what an earlier server was working on: its processes are gone. Call it before the first claim."""
        folders = sorted(self._staging.iterdir()) if self._staging.is_dir() else []
        for folder in folders:
            self._clear(folder)
        sweeps: list[FitRecord] = []
        with self._store.begin() as work:
            lost = work.attempts.unended()
            for attempt in lost:
                journal = AttemptJournal(work, attempt)
                journal.end(LOST)
                fit = journal.save()
                work.after_commit(partial(self._notify, attempt.fit_id))
                if fit.sweep is not None:
                    sweeps.append(fit)
            for sweep in sweeps:
                close_variants(work, sweep, self._notify)
        return TakenBack(len(lost), len(folders))

    def claim(self, skip: Collection[str] = ()) -> Claim | None:
        """Take the next fit in turn, but none of `skip`, and begin an attempt; None if none waits."""
        token = secrets.token_hex(16)
        with self._store.begin() as work:
            fit = work.queue.claim(skip=skip)
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
            variants = work.fits.variants(fit.id) if fit.sweep is not None else ()
            checkpoints = [(each, work.checkpoints.kept(each.id)) for each in (fit, *variants) if not each.terminal]
        runtime = self._runtime(fit)
        beginnings = {each.id: self._resumption.beginning(each, kept) for each, kept in checkpoints}
        staging = self._staging / claim.token
        with storage_faults("the folder of this attempt"):
            # Need not last: what is in it counts once it is moved out, and is cleared away if it never is.
            staging.mkdir(mode=0o700, parents=True)
        return Assignment(
            fit_id=fit.id,
            attempt=fit.attempt,
            token=claim.token,
            definition=graph.definition,
            request=recipe_of(fit.request),
            columns=self._columns(datasets),
            validation_columns=self._columns(validation) if validation else None,
            resume_from=beginnings[fit.id].resume_from,
            staging=str(staging),
            runtime=runtime.to_json(),
            replicas=replicas_of(fit.request),
            sweep=None if fit.sweep is None else _shared_out(fit, variants, beginnings, runtime).to_json(),
            fork=beginnings[fit.id].fork,
            reopened_at=fit.reopened_at,
            checkpoint_seconds=self._checkpoint_seconds,
            kill_at_op=self._kill_worker_at_op if fit.attempt == 1 else None,
        )

    def fit(self, claim: Claim) -> FitRecord | None:
        """Return the fit as it is now, None if the attempt does not count any more."""
        with self._store.begin() as work:
            try:
                work.attempts.guard(claim.fit.id, claim.token)
            except Conflict:
                return None
            return work.fits.get(claim.fit.id)

    def fail_overdue(self) -> datetime | None:
        """Have the fits fail that wait beyond their deadline; return the next deadline of one that waits."""
        with self._store.begin() as work:
            return fail_overdue(work, self._notify)

    def record(self, claim: Claim, progress: Progress) -> Recorded:
        """Write news down, as a whole or, if this raises, not at all; it can then be called again with the same.

        Raises Conflict (`fenced`) or NotFound if the attempt does not count any more: its process is to be killed;
        StorageFull, StorageFailed or DatabaseBusy if the time is not right.
        """
        try:
            with self._sweeper.holding():
                self._adopt_all(claim, progress)
                if claim.fit.replay is not None and claim.fit.replay["verdict"] is None:
                    self._compare(claim, progress)
                with self._store.begin() as work:
                    attempt = work.attempts.guard(claim.fit.id, claim.token)
                    journal = AttemptJournal(work, attempt)
                    if claim.fit.sweep is None:
                        discarded = write_down(journal, work, claim.policy, progress)
                    else:
                        discarded = self._write_down_sweep(work, attempt, journal, claim, progress)
                    losses = journal.losses() if journal.ended else 0
                    fit = journal.save()
                    if fit.sweep is not None:
                        close_variants(work, fit, self._notify)
                    work.after_commit(partial(self._notify, fit.id))
        except (Conflict, NotFound):
            self.drop(progress)
            raise
        self._sweeper.discard(discarded)
        if journal.ended:
            self.clear_up(claim)
        return Recorded(fit, journal.ended, losses)

    def drop(self, progress: Progress) -> None:
        """Delete what was stored for news that are never written down: nothing refers to it."""
        every = (progress, *progress.variants.values())
        self._sweeper.discard([digest for news in every for digest in news.digests])

    def clear_up(self, claim: Claim) -> None:
        """Delete the folder that the attempt's process wrote to, which is gone or has nothing more to write."""
        self._clear(self._staging / claim.token)

    def _write_down_sweep(
        self, work: UnitOfWork, attempt: Attempt, journal: AttemptJournal, claim: Claim, progress: Progress
    ) -> list[str]:
        """Enter the news of a sweep and its variants; what becomes of the sweep goes by theirs."""
        variants = SweepJournal(work, attempt, journal, self._notify)
        discarded = variants.write_down(progress.variants, claim.policy, progress.pid or attempt.pid)
        if progress.verdict is not None:
            progress = replace(progress, verdict=variants.end(progress.verdict))
        return discarded + write_down(journal, work, claim.policy, progress)

    def _compare(self, claim: Claim, progress: Progress) -> None:
        """Add to the last news of a replay, if it succeeds, how it compares, so that one commit takes both."""
        if isinstance(progress.verdict, Finished) and progress.verdict.outcome == "succeeded":
            with self._store.begin() as work:
                fit = work.fits.get(claim.fit.id)
            progress.comparison = compared(self._store, self._blobs, fit, progress)

    def _adopt_all(self, claim: Claim, progress: Progress) -> None:
        """Make blobs of all files that the news tell of, as far as there is room."""
        for fit_id, news in ((claim.fit.id, progress), *progress.variants.items()):
            try:
                self._adopt(claim, fit_id, news)
            except StorageFull as error:
                self._hold_up(claim, fit_id, news, error)

    def _adopt(self, claim: Claim, fit_id: str, progress: Progress) -> None:
        """Make blobs of captured gradients and of the checkpoint files that are worth keeping, and drop the others."""
        adopt_gradients(self._blobs, fit_id, progress)
        if not progress.written:
            return
        worth = retained(progress.written, claim.policy)
        while progress.written:
            written = progress.written[0]
            record = self._adopted(claim, fit_id, written, progress) if written in worth else None
            self._clear(Path(written.path))
            if record is not None:
                progress.checkpoints.append(record)
            del progress.written[0]

    def _hold_up(self, claim: Claim, fit_id: str, progress: Progress, error: StorageFull) -> None:
        """Raise `error` again if the fit is to wait for room, of which its journal tells."""
        with self._store.begin() as work:
            work.attempts.guard(claim.fit.id, claim.token)
            waits = waits_for_room(work, fit_id, claim.fit.id, progress, error)
            work.after_commit(partial(self._notify, fit_id))
        progress.waits_for_room = waits
        if waits:
            raise error

    def _clear(self, path: Path) -> None:
        """Delete a file or folder of an attempt; if that fails, the next start does it."""
        try:
            self._durable.remove_tree(path) if path.is_dir() else self._durable.unlink(path)
        except OSError:
            _logger.exception("a file of an attempt stays until the next start")

    def _adopted(
        self, claim: Claim, fit_id: str, written: CheckpointWritten, progress: Progress
    ) -> CheckpointRecord | None:
        blob = None
        try:
            blob = self._blobs.adopt(Path(written.path))
        except NotFound:
            pass
        except StorageFailed as error:
            progress.logs.append(lost(written, error.detail))
            return None
        if blob is None or blob.digest != written.digest:
            progress.logs.append(lost(written, DAMAGED))
            return None
        return CheckpointRecord(
            id=new_id("ckpt"),
            fit_id=fit_id,
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

    def _runtime(self, fit: FitRecord) -> Runtime:
        resources = fit.request.get("resources") or {}
        return allot(resources, fit.runtime, cores=engine.usable_cores(), workers=self._workers)

    def _columns(self, datasets: Iterable[DatasetRecord]) -> dict[str, list[str]]:
        """Return the files of each column, in the order of the datasets."""
        files: defaultdict[str, list[str]] = defaultdict(list)
        for dataset in datasets:
            for column in dataset.columns:
                files[column.name].append(str(self._blobs.local_path(column.blob)))
        return dict(files)


def _shared_out(
    sweep: FitRecord, variants: Sequence[FitRecord], beginnings: Mapping[str, Beginning], runtime: Runtime
) -> SweepShare:
    """Return what the process of a sweep needs to know of its variants."""
    terms = terms_of(sweep)
    shares = [
        VariantShare(
            fit_id=fit.id,
            request=recipe_of(fit.request),
            resume_from=beginnings[fit.id].resume_from if fit.id in beginnings else None,
            reached=VariantTerms(**(fit.variant or {})).reached,
            ended=fit.terminal,
        )
        for fit in variants
    ]
    roomy = max(1, memory_budget() // max(1, terms.fit_bytes))
    return SweepShare(terms.monitor, terms.mode, terms.eta, terms.rungs, min(runtime.threads, roomy), shares)
