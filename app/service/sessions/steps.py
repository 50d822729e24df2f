"""The steps of sessions: resolve their references, execute them, and import saved checkpoints.

Used by the event loop. A step without new references needs no database access.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from app.domain.access import current_tenant
from app.domain.documents import JSON
from app.domain.errors import DatasetCorrupt, StepRefused
from app.domain.frames import Step, StepAccepted, StepReply
from app.domain.ids import new_id
from app.domain.records import CheckpointRecord
from app.domain.session import SessionRecord, SessionState
from app.service.resources.read_through_cache import ReadThroughCache
from app.service.resources.storage import StorageContext
from app.service.sessions.directories import SessionDirs
from app.service.sessions.state import SessionActivity, SessionWorkerPool, inactive_error
from app.service.sessions.step_files import SavedCheckpoints, StepInputs, find_references, saves_checkpoint

RECENT_MAX = 1024
OPERATION_SECONDS = 0.25
"""The least time that a query about an operation waits for its reply."""

REPLAYED = {"Idempotent-Replayed": "true"}


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step.

    Attributes:
        status: 200, 201 for a saved checkpoint, 202 if the step was accepted and is not executed yet.
        seq: its sequence number, None if it only read.
        media: the media type of the body.
        body: the reply, or the path of a file that holds it, which the sender deletes; empty if there is a
            `checkpoint`.
        checkpoint: the saved checkpoint.
        replayed: whether the step was executed before, and this is the reply of that time.
    """

    status: int
    seq: int | None
    media: str = JSON
    body: bytes | Path = b""
    checkpoint: CheckpointRecord | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class _CachedSession:
    """A session as it was last read, and the datasets that it is known to take rows of."""

    session: SessionRecord
    datasets: frozenset[str]


class SessionSteps:
    """Executes steps."""

    def __init__(
        self,
        storage: StorageContext,
        inputs: StepInputs,
        checkpoints: SavedCheckpoints,
        dirs: SessionDirs,
        worker_pool: SessionWorkerPool,
        activity: SessionActivity,
    ) -> None:
        """Execute steps by the `worker_pool`; `activity` records which sessions are in use."""
        self._integrity = storage.integrity
        self._store = storage.store
        self._sweeper = storage.sweeper
        self._inputs = inputs
        self._checkpoints = checkpoints
        self._dirs = dirs
        self._worker_pool = worker_pool
        self._activity = activity
        most = 0 if storage.store.is_shared else RECENT_MAX
        self._cache: ReadThroughCache[_CachedSession] = ReadThroughCache(most)
        self._pending_operations: dict[tuple[str | None, str, int], asyncio.Task[StepResult]] = {}
        storage.store.on_change(self._cache.invalidate)

    async def execute(self, session_id: str, step: Step, body: bytes = b"") -> StepResult:
        """Execute a step, and return its result.

        Raises StepRefused if it cannot be executed, Invalid if a reference does not exist, NotFound if there is
        no such session, SessionsFull, Draining or ProcessLost if the step should be sent again.
        """
        known = self._cache.get(session_id)
        if known is None:
            known = await asyncio.to_thread(self._cache.read, session_id, self._read)
        self._check(known.session)
        if step.notify and saves_checkpoint(step):
            # The file has to be taken over: that is done before the answer, whether or not the client waits.
            step = replace(step, notify=False)
        refers = find_references(step, known.datasets)
        if not refers.datasets and not refers.checkpoints:
            return await self._execute(known.session, step, body)
        with self._sweeper.paused():
            step = await asyncio.to_thread(self._inputs.look_up, session_id, step, refers)
            for dataset_id in refers.datasets.values():
                await self._worker_pool.attach(session_id, dataset_id)
            self._check(known.session)
            return await self._execute(known.session, step, body)

    async def save(self, session: SessionRecord, step_id: str) -> CheckpointRecord:
        """Save a checkpoint of a session for the server's own ends; the same `step_id` gives the same one."""
        result = await self._execute(session, Step(step_id, "save", {}), b"")
        assert result.checkpoint is not None
        return result.checkpoint

    async def operation(self, session_id: str, seq: int, wait: float = 0.0) -> StepResult:
        """Return the result of an accepted step, or after `wait` seconds that it is not executed yet.

        Concurrent requests for the same operation share one reply.
        """
        place = (current_tenant(), session_id, seq)
        task = self._pending_operations.get(place)
        if task is None:
            step = Step(new_id("req"), "operation", {"seq": seq})
            task = self._pending_operations[place] = asyncio.create_task(self._fetch_operation(session_id, step, seq))
            task.add_done_callback(lambda _: self._pending_operations.pop(place, None))
        try:
            return await asyncio.wait_for(asyncio.shield(task), max(wait, OPERATION_SECONDS))
        except TimeoutError:
            return StepResult(200, seq, body=json.dumps({"seq": seq, "done": False}).encode())

    async def _fetch_operation(self, session_id: str, step: Step, seq: int) -> StepResult:
        try:
            result = await self.execute(session_id, step)
        except StepRefused as error:
            if REPLAYED.items() <= error.headers.items():
                return StepResult(
                    200, seq, body=_encode_operation(seq, "error", json.dumps(_to_problem(error)).encode())
                )
            raise
        checkpoint = await asyncio.to_thread(self._checkpoint, session_id, seq)
        if checkpoint is not None:
            return replace(result, checkpoint=checkpoint)
        if result.media != JSON:
            return result
        answer = (
            result.body
            if isinstance(result.body, bytes)
            else await asyncio.to_thread(self._read_and_delete, result.body)
        )
        return StepResult(200, seq, body=_encode_operation(seq, "answer", answer))

    def _read_and_delete(self, file: Path) -> bytes:
        content = file.read_bytes()
        self._dirs.discard(file)
        return content

    def _checkpoint(self, session_id: str, seq: int) -> CheckpointRecord | None:
        with self._store.read() as work:
            return work.checkpoints.of_step(session_id, seq)

    def _read(self, session_id: str) -> _CachedSession:
        with self._store.read() as work:
            return _CachedSession(work.sessions.get(session_id), frozenset(work.sessions.datasets(session_id)))

    def _check(self, session: SessionRecord) -> None:
        """StepRefused unless the session takes steps; it counts as used now."""
        if session.state is not SessionState.ACTIVE:
            raise inactive_error(session, self._worker_pool.status(session.id).next_seq)
        self._activity.record_use(session)

    async def _execute(self, session: SessionRecord, step: Step, body: bytes) -> StepResult:
        reply, content = await self._worker_pool.execute(session, step, body)
        if isinstance(reply, StepAccepted):
            return StepResult(202, reply.seq)
        if reply.error is not None:
            await self._note_damage(reply.error)
            raise to_step_refused(reply)
        if step.verb == "save":
            return await self._import_checkpoint(session, reply, content)
        file = self._file(session, reply)
        return StepResult(200, reply.seq, reply.media, file or content, replayed=reply.replayed)

    async def _note_damage(self, error: Mapping[str, Any]) -> None:
        """Mark what the process of a session has found to be damaged."""
        if error.get("code") == DatasetCorrupt.code:
            await asyncio.to_thread(self._integrity.note, error["blob"], error["detail"])

    async def _import_checkpoint(self, session: SessionRecord, reply: StepReply, content: bytes) -> StepResult:
        assert reply.seq is not None
        file = self._file(session, reply)
        digest = json.loads(content).get("digest") if content else None
        import_file: Callable[..., CheckpointRecord] = self._checkpoints.import_file
        # The client may disconnect; the checkpoint is stored all the same.
        taking = asyncio.to_thread(import_file, session, reply.seq, file, digest, replayed=reply.replayed)
        checkpoint = await asyncio.shield(asyncio.ensure_future(taking))
        return StepResult(201, reply.seq, checkpoint=checkpoint, replayed=reply.replayed)

    def _file(self, session: SessionRecord, reply: StepReply) -> Path | None:
        return None if reply.file is None else self._dirs.path(session.id) / reply.file


def _encode_operation(seq: int, what: str, encoded: bytes) -> bytes:
    return b'{"seq":%d,"done":true,"%s":%s}' % (seq, what.encode(), encoded)


def _to_problem(error: StepRefused) -> dict[str, Any]:
    """Return what a step was refused with, as it stands in the answer to a question after it."""
    return {
        "status": error.status,
        "title": error.title,
        "code": error.code,
        "detail": error.detail,
        "errors": [asdict(finding) for finding in error.findings],
        **error.extensions,
    }


def to_step_refused(reply: StepReply) -> StepRefused:
    """Return the error that the process of a session answers a step with."""
    return StepRefused.from_json(reply.error or {}, REPLAYED if reply.replayed else None)
