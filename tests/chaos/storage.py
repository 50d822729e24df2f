"""What a server stores in the life of two fits, in a process that dies before its n-th durable operation.

`python -m tests.chaos.storage FOLDER EVERY [MUTANT]` goes through it for each EVERY-th n there is, each time in a
folder of its own below FOLDER: what was acknowledged stands beside the data. A MUTANT is planted in every process.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from app.domain.clock import SystemClock
from app.domain.messages import CheckpointWritten, Finished, MetricRows
from app.domain.records import Column, DatasetRecord, GraphRecord
from app.service.admin.quarantine import FolderBlobQuarantine, Orphans, Quarantine
from app.service.attempts.attempts import Attempts
from app.service.attempts.progress import AttemptReport, Claim
from app.service.fits.event_log import record_state
from app.service.resources.blobs import BlobSweeper
from app.store.blobs.local import LocalBlobStore
from app.store.database import FILE_NAME
from app.store.unit_of_work import Store, UnitOfWork
from app.system.durable import Durable
from tests.chaos.driver import Journal
from tests.chaos.simulated_fits import row_of
from tests.support.fits import fit_record
from tests.support.storage import storage_context

DATA, NOTES = "data", "acknowledged.jsonl"
GRAPH_ID, DATASET_ID = "graph_1", "ds_1"
FITS = ("fit_1", "fit_2")
STEPS = 2
ROWS = b"rows to train on"
DATASET, CREATED, ROW, CHECKPOINT, ENDED, DELETING = "dataset", "created", "row", "checkpoint", "ended", "deleting"


class Shop:
    """A server's storage over a data directory."""

    def __init__(self, data_dir: Path, durable: Durable) -> None:
        """Open it as a server does when it starts."""
        clock = SystemClock()
        self.store = Store.open(data_dir, clock, durable)
        self.blobs = LocalBlobStore(data_dir, durable)
        self.sweeper = BlobSweeper(self.store, self.blobs)
        self.staging = data_dir / "staging"
        storage = storage_context(self.store, self.blobs, self.staging, sweeper=self.sweeper, clock=clock)
        self.attempts = Attempts(storage, self.staging, lambda _fit_id: None, durable=durable)
        quarantine = Quarantine(data_dir, durable, clock)
        Orphans(
            self.store, FolderBlobQuarantine(self.blobs, quarantine), data_dir / "sessions", self.staging, quarantine
        ).move()
        self.attempts.recover()
        self._now = clock.now()

    def upload(self) -> None:
        """Store a dataset."""
        with self.sweeper.paused() as stored:
            blob = self.blobs.put(ROWS)
            stored.add(blob.digest)
            column = Column("x", "float32", (), blob.digest, None, None, None, 0)
            with self.store.begin() as work:
                work.graphs.add(GraphRecord(GRAPH_ID, "g", "0" * 64, {}, {}, self._now))
                work.datasets.add(DatasetRecord(DATASET_ID, "d", blob.digest, 1, 4, (column,), "npy", self._now))

    def submit(self, fit_id: str) -> None:
        """Queue a fit."""
        fit = fit_record(
            fit_id,
            graph_id=GRAPH_ID,
            dataset_id=DATASET_ID,
            request={"graph": GRAPH_ID, "dataset": DATASET_ID, "steps": STEPS, "checkpoint": {"keep_last": 1}},
            total_steps=STEPS,
            created_at=self._now,
        )
        with self.store.begin() as work:
            work.fits.add(fit)
            record_state(work, fit)

    def claim(self) -> tuple[Claim, Path]:
        """Begin an attempt; return it with the folder that its process writes to."""
        claim = self.attempts.claim()
        assert claim is not None, "no fit waits"
        folder = Path(self.attempts.assignment(claim).staging)
        self.attempts.record(claim, AttemptReport(pid=1))
        return claim, folder

    def step(self, claim: Claim, folder: Path, step: int) -> None:
        """Write down a row and a checkpoint, whose bytes are the same for every fit."""
        content = f"checkpoint of step {step}".encode() * 50
        path = folder / f"step-{step}.safetensors"
        path.write_bytes(content)
        digest = sha256(content).hexdigest()
        written = CheckpointWritten(str(path), step, 1, step, {}, digest, len(content), is_best=False)
        rows = MetricRows([row_of(claim.fit.id, step)], step, 1, {}, None)
        self.attempts.record(claim, AttemptReport(metric_rows=rows, written=[written]))


def live(folder: Path, durable: Durable) -> None:
    """Go through it all, and note whatever a client would have been sent."""
    notes = Journal(folder / NOTES)
    shop = Shop(folder / DATA, durable)
    shop.upload()
    notes.note(DATASET, DATASET_ID)
    for fit_id in FITS:
        shop.submit(fit_id)
        notes.note(CREATED, fit_id)
        claim, staging = shop.claim()
        for step in range(1, STEPS + 1):
            shop.step(claim, staging, step)
            notes.note(f"{ROW} {step}", fit_id)
            notes.note(f"{CHECKPOINT} {step}", fit_id)
        if fit_id == FITS[-1]:
            shop.attempts.record(claim, AttemptReport(verdict=Finished("succeeded")))
            notes.note(ENDED, fit_id)
    notes.note(DELETING, FITS[-1])
    with shop.store.begin() as work:
        digests = [checkpoint.digest for checkpoint in work.checkpoints.kept(FITS[-1])]
        work.fits.delete(FITS[-1])
    shop.sweeper.discard(digests)
    shop.store.close()


def write_in_place() -> None:
    """A blob is written under its own name, bit by bit."""

    def keep(blobs: Any, _descriptor: int, path: Path, digest: str) -> None:
        target = blobs._root / digest[:2] / digest
        blobs._durable.mkdir(target.parent)
        content = path.read_bytes()
        if target.exists():
            target.chmod(0o600)
        with target.open("wb", buffering=0) as file:
            for part in (content[: len(content) // 2], content[len(content) // 2 :]):
                blobs._durable.about_to("write", target)
                file.write(part)
        path.unlink()

    LocalBlobStore.keep = keep  # type: ignore[method-assign] # this is what it is about


def prune_first() -> None:
    """The old checkpoints are deleted before the new one is on the disk."""
    record = Attempts.record

    def recorded(attempts: Any, claim: Claim, progress: AttemptReport) -> Any:
        if progress.written:
            with attempts._store.begin() as work:
                kept = work.checkpoints.kept(claim.fit.id)
                for checkpoint in kept:
                    work.checkpoints.delete(checkpoint.id)
            attempts._sweeper.discard([checkpoint.digest for checkpoint in kept])
        return record(attempts, claim, progress)

    Attempts.record = recorded  # type: ignore[method-assign] # this is what it is about


def answer_first() -> None:
    """A request is answered, and committed when the next one comes."""
    begin, read = Store.begin, Store.read
    open_still: list[Any] = []

    def commit() -> None:
        while open_still:
            open_still.pop().__exit__(None, None, None)

    @contextmanager
    def begun(store: Store) -> Iterator[UnitOfWork]:
        commit()
        late = begin(store)
        work = late.__enter__()
        open_still.append(late)
        yield work

    @contextmanager
    def read_after_commit(store: Store) -> Iterator[UnitOfWork]:
        commit()
        with read(store) as work:
            yield work

    Store.begin = begun  # type: ignore[method-assign] # this is what it is about
    Store.read = read_after_commit  # type: ignore[method-assign]


MUTANTS: Mapping[str, Callable[[], None]] = MappingProxyType(
    {"write_in_place": write_in_place, "prune_first": prune_first, "answer_first": answer_first}
)


def die_everywhere(folder: Path, every: int) -> int:
    """Go through it once, then in processes that die before an operation each; return how many operations there are.

    The first process dies before the operation `every`, each other one so many later.
    """
    template = folder / "template"
    Store.open(template).close()
    survived = Durable()
    # Before the others, and not in a process of its own, so that they find everything loaded.
    live(_prepared(folder / "0", template), survived)
    for operation in range(every, survived.operations + 1, every):
        of_its_own = _prepared(folder / str(operation), template)
        pid = os.fork()
        if pid == 0:
            try:
                live(of_its_own, Durable(kill_at=operation))
            finally:
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status != -signal.SIGKILL:
            raise RuntimeError(f"the process that was to die before operation {operation} ended with {status}")
    return survived.operations


def _prepared(folder: Path, template: Path) -> Path:
    """Return the folder with a database in it that is empty, and at the newest schema."""
    (folder / DATA).mkdir(parents=True)
    shutil.copy(template / FILE_NAME, folder / DATA)
    return folder


def main(arguments: Sequence[str]) -> int:
    """Print how many operations there are."""
    for mutant in arguments[2:]:
        MUTANTS[mutant]()
    print(die_everywhere(Path(arguments[0]), int(arguments[1])))  # noqa: T201 (it is what the test reads)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
