"""The files that an attempt reads, brought to this machine before it starts."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from app.domain.errors import NotFound, StorageFailed, StorageFull, StorageUnavailable
from app.domain.fit import WAITS_FOR_STORAGE, FitRecord
from app.service.attempts.checkpoint_import import waiting_log
from app.service.fits.event_log import record_log
from app.store.blobs.store import BlobStore
from app.store.unit_of_work import Store, UnitOfWork

PREPARED_MAX = 8
"""The maximum number of fits whose files are copied at the same time; other queued fits can start at the same time."""

LOGGED_MAX = 10_000


class InputFiles:
    """Asks for copies of what fits read. Where blobs are files of this machine there is nothing to do."""

    def __init__(self, blobs: BlobStore, notify: Callable[[str], None]) -> None:
        """Call `notify` with the id of a fit if it has to wait."""
        self._blobs = blobs
        self._notify = notify
        self._logged: dict[str, str] = {}

    def prepare(self, work: UnitOfWork, fit: FitRecord) -> bool:
        """Whether all files of a queued fit are here; if not they are on their way, and the fit waits for storage.

        That they cannot be copied now is logged, once for each cause.
        """
        if not self._blobs.is_remote:
            return True
        try:
            ready = self._blobs.prepare(needed_blobs(work, fit))
        except (StorageUnavailable, StorageFull, StorageFailed) as error:
            self._log(work, fit, error)
            ready = False
        if ready:
            self._logged.pop(fit.id, None)
            return True
        if fit.phase != WAITS_FOR_STORAGE:
            work.fits.update(replace(fit, phase=WAITS_FOR_STORAGE))
            work.after_commit(partial(self._notify, fit.id))
        return False

    def _log(self, work: UnitOfWork, fit: FitRecord, error: StorageUnavailable | StorageFull | StorageFailed) -> None:
        if self._logged.get(fit.id) == error.code:
            return
        if len(self._logged) >= LOGGED_MAX:
            self._logged.clear()
        self._logged[fit.id] = error.code
        record_log(work, fit.id, waiting_log(error))
        work.after_commit(partial(self._notify, fit.id))


def needed_blobs(work: UnitOfWork, fit: FitRecord) -> Iterator[str]:
    """Yield the digests of what an attempt reads: all columns of its datasets, the newest checkpoint of each fit."""
    yield from _columns(work, (*fit.dataset_ids, *fit.validation_ids))
    for each in (fit, *(work.fits.variants(fit.id) if fit.sweep is not None else ())):
        if not each.terminal:
            intact = (checkpoint.digest for checkpoint in work.checkpoints.kept(each.id) if not checkpoint.corrupt)
            yield from (digest for digest, _ in zip(intact, range(1), strict=False))


def blobs_in_use(store: Store) -> frozenset[str]:
    """Return the digests of what the attempts at work, and open sessions, may still open."""
    with store.read() as work:
        found: set[str] = set()
        for attempt in work.attempts.unended():
            found.update(needed_blobs(work, work.fits.get(attempt.fit_id)))
        for session in work.sessions.open():
            found.update(_columns(work, work.sessions.datasets(session.id)))
    return frozenset(found)


def _columns(work: UnitOfWork, dataset_ids: "tuple[str, ...] | list[str]") -> Iterator[str]:
    for dataset_id in dataset_ids:
        try:
            dataset = work.datasets.get(dataset_id)
        except NotFound:
            continue  # the attempt says so when it begins
        yield from (column.blob for column in dataset.columns)
