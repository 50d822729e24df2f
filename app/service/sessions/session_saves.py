"""The checkpoints that sessions save: the file becomes a blob, and its record says of which step it is."""

import threading
from collections.abc import Mapping
from pathlib import Path

import engine
from app.domain.checkpoint import CheckpointRecord
from app.domain.clock import Clock
from app.domain.errors import CheckpointCorrupt, Gone, NotFound
from app.domain.ids import new_id
from app.domain.session import SessionRecord
from app.service.resources.blob_sweeper import BlobSweeper
from app.service.resources.disk_space import DiskSpace
from app.service.resources.engine_faults import engine_faults
from app.store.blobs.store import BlobStore
from app.store.unit_of_work import Store


class SessionSaves:
    """Takes over what sessions save."""

    def __init__(self, store: Store, blobs: BlobStore, sweeper: BlobSweeper, space: DiskSpace, clock: Clock) -> None:
        """Move files into `blobs`, and keep their records in `store`."""
        self._store = store
        self._blobs = blobs
        self._sweeper = sweeper
        self._space = space
        self._clock = clock
        # The second of two that ask for one step finds what the first has stored; and files are read as a whole, which
        # is best done one after another.
        self._turn = threading.Lock()

    def take_over(
        self, session: SessionRecord, seq: int, file: Path | None, digest: str | None, *, replayed: bool
    ) -> CheckpointRecord:
        """Return the checkpoint that a step has saved, stored now unless it is on record.

        `file` is what the process has written, with the SHA-256 `digest`; None if it knows that it was taken over.
        `replayed` tells that the step was carried out before. Gone if the checkpoint was deleted, or nobody came for
        its file in time; CheckpointCorrupt if the file was changed since.
        """
        with self._turn:
            known = self._known(session.id, seq)
            if known is not None and replayed:
                return _present(known)
            return self._store_file(session, seq, file, digest, known)

    def _known(self, session_id: str, seq: int) -> CheckpointRecord | None:
        with self._store.begin() as work:
            return work.checkpoints.of_step(session_id, seq)

    def _store_file(
        self,
        session: SessionRecord,
        seq: int,
        file: Path | None,
        digest: str | None,
        outdated: CheckpointRecord | None,
    ) -> CheckpointRecord:
        """Store a checkpoint. One that is on record is of a step that the session has forgotten, as a backup has it."""
        self._space.check()
        if file is None:
            raise Gone(f"the checkpoint that step {seq} has saved was not fetched while it was kept; save another one")
        with self._sweeper.holding() as stored:
            try:
                blob = self._blobs.adopt(file)
            except NotFound as error:
                raise Gone(f"the file that step {seq} has saved is gone; save another one") from error
            stored.add(blob.digest)
            if digest is not None and blob.digest != digest:
                detail = f"the file that step {seq} has saved does not hold what was written; save another one"
                raise CheckpointCorrupt(detail, blob=digest, problem="was changed before it was stored")
            step = _step_of(self._blobs.local_path(blob.digest))
            checkpoint = CheckpointRecord(
                id=new_id("ckpt"),
                fit_id=None,
                graph_id=session.graph_id,
                step=step,
                epoch=0,
                digest=blob.digest,
                size_bytes=blob.size,
                metrics={},
                created_at=self._clock.now(),
                is_best=False,
                deleted=False,
                session_id=session.id,
                session_seq=seq,
                tenant=session.tenant,
            )
            with self._store.begin() as work:
                if outdated is not None:
                    work.checkpoints.forget_step(outdated.id)
                work.checkpoints.add(checkpoint)
        return checkpoint


def _step_of(file: Path) -> int:
    """Return how many steps the optimizer had taken."""
    with engine_faults():
        cursor: Mapping[str, object] = engine.Checkpoint.load(file).cursor
    step = cursor.get("step", 0)
    return step if isinstance(step, int) else 0


def _present(checkpoint: CheckpointRecord) -> CheckpointRecord:
    if checkpoint.deleted:
        raise Gone(f"checkpoint {checkpoint.id}, which this step has saved, was deleted; save another one")
    return checkpoint
