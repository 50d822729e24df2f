"""The files of steps: datasets and checkpoints that they read, and checkpoints that they save."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import engine
from app.domain.clock import Clock
from app.domain.errors import CheckpointCorrupt, Finding, Gone, NotFound
from app.domain.frames import Step
from app.domain.ids import new_id
from app.domain.records import CheckpointRecord
from app.domain.session import SessionRecord
from app.service.fits.inputs import resolve
from app.service.resources.blobs import BlobSweeper, Integrity
from app.service.resources.engine_documents import engine_faults, invalid
from app.service.resources.storage import DiskSpace
from app.service.sessions.classes import add_checkpoint_classes, add_dataset_classes
from app.store.blobs.store import Blob, BlobStore
from app.store.unit_of_work import Store


@dataclass(frozen=True, slots=True)
class References:
    """What a step refers to, each with the place in its options where it does."""

    datasets: Mapping[str, str]
    checkpoints: Mapping[str, str]


NOTHING = References({}, {})


def find_references(step: Step, known: frozenset[str]) -> References:
    """Return what a step refers to that has still to be looked up: datasets that are not `known`, and checkpoints."""
    if step.verb != "batch" and "rows" not in step.options and step.verb != "load":
        return NOTHING
    datasets: dict[str, str] = {}
    checkpoints: dict[str, str] = {}
    for place, verb, options in _iter_parts(step):
        rows = options.get("rows")
        dataset = rows.get("dataset") if isinstance(rows, Mapping) else None
        if isinstance(dataset, str) and dataset not in known:
            datasets[f"{place}rows/dataset"] = dataset
        if verb == "load" and isinstance(options.get("checkpoint"), str):
            checkpoints[f"{place}checkpoint"] = options["checkpoint"]
    return References(datasets, checkpoints)


def saves_checkpoint(step: Step) -> bool:
    """Whether a step leaves files for the server to take over."""
    return any(verb == "save" for _, verb, _ in _iter_parts(step))


def _iter_parts(step: Step) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Go through the steps of a batch, or this one: where its options are, its verb, and these."""
    if step.verb != "batch":
        yield "", step.verb, step.options
        return
    for place, part in enumerate(step.options.get("steps") or ()):
        yield f"steps/{place}/", part.get("verb", ""), part


class StepInputs:
    """Looks up what steps refer to."""

    def __init__(self, store: Store, integrity: Integrity) -> None:
        self._store = store
        self._integrity = integrity

    def look_up(self, session_id: str, step: Step, refers: References) -> Step:
        """Return the step with the files of the checkpoints that it loads; datasets count as used from now on.

        Invalid, with pointers into the step, if there is no such resource; Corrupt if a checkpoint is damaged.
        """
        with self._store.begin() as work:
            for place, dataset_id in refers.datasets.items():
                dataset = resolve(f"/{place}", "ds", dataset_id, work.datasets.get)
                add_dataset_classes(work, session_id, dataset)
                work.sessions.use(session_id, dataset_id)
            found = {
                place: resolve(f"/{place}", "ckpt", checkpoint_id, work.checkpoints.get)
                for place, checkpoint_id in refers.checkpoints.items()
            }
        files = {place: self._file(place, checkpoint) for place, checkpoint in found.items()}
        self._add_classes(session_id, found, files)
        return replace(step, files=files) if files else step

    def _add_classes(
        self, session_id: str, checkpoints: Mapping[str, CheckpointRecord], files: Mapping[str, str]
    ) -> None:
        for place, checkpoint in checkpoints.items():
            with engine_faults(f"/{place}"):
                loaded = engine.Checkpoint.load(Path(files[place]))
            with self._store.begin() as work:
                add_checkpoint_classes(work, session_id, checkpoint, loaded, f"/{place}")

    def _file(self, place: str, checkpoint: CheckpointRecord) -> str:
        if checkpoint.deleted:
            raise invalid([Finding(f"/{place}", "gone", f"checkpoint {checkpoint.id} was deleted; load another one")])
        return str(self._integrity.checkpoint(checkpoint, f"/{place}"))


class SavedCheckpoints:
    """Takes over what sessions save."""

    def __init__(self, store: Store, blobs: BlobStore, sweeper: BlobSweeper, space: DiskSpace, clock: Clock) -> None:
        self._store = store
        self._blobs = blobs
        self._sweeper = sweeper
        self._space = space
        self._clock = clock
        # The second of two that ask for one step finds what the first has stored; and files are read as a whole, which
        # is best done one after another.
        self._turn = threading.Lock()

    def import_file(
        self, session: SessionRecord, seq: int, file: Path | None, digest: str | None, *, replayed: bool
    ) -> CheckpointRecord:
        """Return the checkpoint that a step has saved, stored now unless it is on record.

        `file` is what the process has written, with the SHA-256 `digest`; None if it was taken over.
        `replayed` is set if the step was executed before. Gone if the checkpoint was deleted, or nobody came for
        its file in time; CheckpointCorrupt if the file was changed since.
        """
        with self._turn:
            known = self._known(session.id, seq)
            if known is not None and replayed:
                return _require_kept(known)
            return self._store_file(session, seq, file, digest, known)

    def _known(self, session_id: str, seq: int) -> CheckpointRecord | None:
        with self._store.read() as work:
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
        with self._sweeper.paused() as stored:
            blob = self._adopt(file, digest)
            if blob is None:
                raise Gone(f"the checkpoint that step {seq} has saved was not fetched while it was kept; save another")
            stored.add(blob.digest)
            if digest is not None and blob.digest != digest:
                detail = f"the file that step {seq} has saved does not hold what was written; save another one"
                raise CheckpointCorrupt(detail, blob=digest, problem="was changed before it was stored")
            step = _read_step(self._blobs.local_path(blob.digest))
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

    def _adopt(self, file: Path | None, digest: str | None) -> Blob | None:
        """Make a file a blob; None if it is gone, and no blob either. This can be repeated if the digest is known."""
        if file is not None:
            with suppress(NotFound):
                return self._blobs.adopt(file)
        return None if digest is None else self._blobs.find_adopted(digest)


def _read_step(file: Path) -> int:
    """Return how many steps the optimizer had taken."""
    with engine_faults():
        cursor: Mapping[str, object] = engine.Checkpoint.load(file).cursor
    step = cursor.get("step", 0)
    return step if isinstance(step, int) else 0


def _require_kept(checkpoint: CheckpointRecord) -> CheckpointRecord:
    if checkpoint.deleted:
        raise Gone(f"checkpoint {checkpoint.id}, which this step has saved, was deleted; save another one")
    return checkpoint
