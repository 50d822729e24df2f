"""Taking over the files that an attempt has written: they become blobs, and their records wait to be stored."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from app.domain.checkpoint import CheckpointRecord
from app.domain.clock import Clock
from app.domain.errors import NotFound, StorageFailed, StorageFull
from app.domain.ids import new_id
from app.domain.messages import CheckpointWritten
from app.service.attempts.attempt_news import retained
from app.service.attempts.attempt_progress import Progress
from app.service.attempts.captures import adopt_gradients
from app.service.attempts.claim import Claim
from app.service.attempts.staging import Staging
from app.service.attempts.unkept import DAMAGED, lost, waiting, waits_for_room
from app.store.blobs.store import BlobStore
from app.store.unit_of_work import Store


class Adoption:
    """Makes blobs of what attempts have written. Each file that is done leaves the news, so it can be gone on with."""

    def __init__(
        self, store: Store, blobs: BlobStore, staging: Staging, notify: Callable[[str], None], clock: Clock
    ) -> None:
        """Move files from `staging` to `blobs`; call `notify` with a fit's id when its journal tells of trouble."""
        self._store = store
        self._blobs = blobs
        self._staging = staging
        self._notify = notify
        self._clock = clock

    def adopt(self, claim: Claim, progress: Progress) -> None:
        """Make blobs of all files that the news tell of; StorageFull if the fit is to wait until there is room."""
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
            self._staging.clear(Path(written.path))
            if record is not None:
                progress.checkpoints.append(record)
            del progress.written[0]

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
            tenant=claim.fit.tenant,
        )

    def _hold_up(self, claim: Claim, fit_id: str, progress: Progress, error: StorageFull) -> None:
        """Raise `error` again if the fit is to wait for room, of which its journal tells."""
        try:
            with self._store.begin() as work:
                work.attempts.guard(claim.fit.id, claim.token)
                waits = waits_for_room(work, fit_id, claim.fit.id, progress, error)
                work.after_commit(partial(self._notify, fit_id))
        except StorageFull:
            # The database is on the same disk: what there is to be told is written down with all else, later.
            if not progress.waits_for_room:
                progress.logs.append(waiting(error))
            progress.waits_for_room = True
            raise
        progress.waits_for_room = waits
        if waits:
            raise error
