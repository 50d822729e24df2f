"""The database side of session processes: their assignments, and their reports.

A process is identified by its session and attempt number; reports of any but the latest attempt are ignored.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import engine
from app.domain.errors import NotFound, StepRefused
from app.domain.frames import Attach
from app.domain.messages import Poison, SessionAssignment
from app.domain.records import DatasetRecord
from app.domain.runtime import Runtime, allot
from app.domain.session import OPEN, SessionRecord, SessionState
from app.service.resources.blobs import Integrity
from app.service.resources.model_classes import CLASSES
from app.service.sessions.classes import session_classes
from app.service.sessions.creation import BEGINNING_SEQ
from app.service.sessions.ownership import SOLE_OWNER, SessionOwnership
from app.service.sessions.session_storage import SessionStorage
from app.service.sessions.state import inactive_error
from app.store.blobs.store import BlobStore
from app.store.unit_of_work import Store, UnitOfWork

RECIPE = ("optimizer", "clip", "precision", "seed", "dataset", "feeds", "static")
"""The fields of a session's request that its process works by."""


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """How processes of sessions are run.

    They get the threads of a fit with this many `workers`; the first process of each session is killed before disk
    operation `kill_at_op` (for tests); each may take `memory_bytes`, since the need of a step is not known before.
    """

    workers: int = 1
    kill_at_op: int | None = None
    memory_bytes: int | None = None


class SessionAttempts:
    """The use cases of the processes of sessions."""

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        files: SessionStorage,
        terms: SessionConfig,
        integrity: Integrity | None = None,
        ownership: SessionOwnership = SOLE_OWNER,
    ) -> None:
        """Read from `store`; processes read files of `blobs`, and keep their own in `files`.

        Only processes of sessions that this server owns are started.
        """
        self._store = store
        self._files = files
        self._terms = terms
        self._ownership = ownership
        self._integrity = integrity or Integrity(store, blobs)

    def recover(self) -> int:
        """Delete directories of ended sessions that an earlier server left; return how many.

        The time while no server was running does not count as idle time.
        """
        with self._store.begin() as work:
            work.sessions.excuse()
            ended = work.sessions.ids() - work.sessions.with_folders()
        return self._files.remove_all(ended)

    def begin(self, session_id: str, poison: Poison | None = None) -> SessionAssignment:
        """Start an attempt, and return its assignment.

        `poison` is a step that must not be executed again. StepRefused if the session has ended, NotFound or
        Corrupt if an input is missing or damaged, StorageFull or StorageFailed if its directory cannot be
        created, SessionElsewhere if another server runs the session, StorageUnavailable if its files cannot be fetched.
        """
        self._ownership.free(self._store, session_id)
        with self._store.begin() as work:
            session = work.sessions.get(session_id)
            if session.state not in OPEN:
                raise inactive_error(session)
            session = self._ownership.claim(work, session)
            session = work.sessions.update(replace(session, attempt=session.attempt + 1))
            is_stored = work.session_files.has(session_id)
            graph = work.graphs.get(session.graph_id)
            beginning = work.checkpoints.of_step(session_id, BEGINNING_SEQ)
            datasets = [work.datasets.get(dataset_id) for dataset_id in work.sessions.datasets(session_id)]
            saved = work.checkpoints.saved(session_id)
            classes = session_classes(work, session)
        folder = self._files.open(session, is_stored=is_stored)
        begun = session.begun or is_stored
        start_from = None
        if beginning is not None and not begun:
            start_from = str(self._integrity.checkpoint(beginning))
        resources = session.request["resources"]
        runtime = allot(resources, session.runtime, cores=engine.usable_cores(), workers=self._terms.workers)
        return SessionAssignment(
            session_id=session_id,
            attempt=session.attempt,
            token=secrets.token_hex(16),
            kind=session.kind,
            definition=graph.definition,
            request={**{name: session.request.get(name) for name in RECIPE}, CLASSES: classes},
            start_from=start_from,
            restore=session.request["restore"],
            folder=str(folder),
            datasets={dataset.id: self._integrity.columns(dataset) for dataset in datasets},
            classes={dataset.id: _class_names(dataset) for dataset in datasets},
            saved=[*saved],
            runtime=runtime.to_json(),
            begun=begun,
            poison=None if poison is None else poison.step,
            starved=poison is not None and poison.starved,
            poisoned_by="" if poison is None else poison.detail,
            kill_at_op=self._terms.kill_at_op if session.attempt == 1 else None,
            memory_bytes=self._terms.memory_bytes,
            reserved_bytes=session.memory_bytes,
            is_copy=self._files.is_shared,
        )

    @property
    def keeps_copies(self) -> bool:
        """Whether what a process writes has to be stored before its replies are sent (see `store_files`)."""
        return self._files.is_shared

    def store_files(self, session_id: str, attempt: int) -> None:
        """Store what the process of a session has written for other servers (see `SessionStorage.store`)."""
        self._files.store(session_id, attempt)

    def forget_files(self, session_id: str) -> None:
        """Delete this server's copy of what another one stores now."""
        self._files.forget(session_id)

    def attachment(self, session_id: str, dataset_id: str) -> Attach:
        """Return the message that makes a dataset available to the process of a session."""
        with self._store.read() as work:
            dataset = work.datasets.get(dataset_id)
            classes = session_classes(work, work.sessions.get(session_id))
        return Attach(dataset_id, self._integrity.columns(dataset), _class_names(dataset), classes)

    def record_runtime(self, session_id: str, attempt: int, runtime: dict[str, Any]) -> None:
        """Record the runtime of the process, which has written the first snapshot by now."""
        Runtime.from_json(runtime)
        with self._store.begin() as work:
            for session in self._find_current(work, session_id, attempt):
                if session.runtime != runtime or not session.begun:
                    work.sessions.update(replace(session, runtime=runtime, begun=True))

    def record_numerics_change(self, session_id: str, attempt: int) -> None:
        """Record that the session was restored with other numerics than those of its snapshot."""
        with self._store.begin() as work:
            for session in self._find_current(work, session_id, attempt):
                if session.bit_exact:
                    work.sessions.update(replace(session, bit_exact=False))

    def fail(self, session_id: str, attempt: int, code: str, detail: str) -> None:
        """Mark the session as failed. Its directory stays until it is closed, for inspection."""
        with self._store.begin() as work:
            for session in self._find_current(work, session_id, attempt):
                error = {"code": code, "detail": detail}
                failed = replace(session, state=SessionState.FAILED, error=error, finished_at=work.now)
                work.sessions.update(failed)

    def mark_damaged(self, blob: str, problem: str) -> None:
        """Mark a damaged blob that a session needs; a damaged copy of one is only fetched again."""
        self._integrity.note_copy(blob, problem)

    def inactive_error(self, session_id: str) -> StepRefused:
        """Return the error for steps of a session that has ended."""
        with self._store.read() as work:
            return inactive_error(work.sessions.get(session_id))

    def _find_current(self, work: UnitOfWork, session_id: str, attempt: int) -> Iterable[SessionRecord]:
        """Return the session, if it is open and this is its latest attempt."""
        try:
            session = work.sessions.get(session_id)
        except NotFound:
            return ()
        return (session,) if session.attempt == attempt and session.state in OPEN else ()


def _class_names(dataset: DatasetRecord) -> dict[str, list[str]]:
    return {column.name: list(column.classes) for column in dataset.columns if column.classes is not None}
