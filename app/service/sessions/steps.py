"""The steps of sessions: what they refer to is looked up, their processes carry them out, and what is saved is kept.

All of it belongs to the event loop. A step that refers to nothing new costs no look at the database.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from app.domain.access import current_tenant
from app.domain.documents import JSON
from app.domain.errors import DatasetCorrupt, Finding, StepRefused
from app.domain.frames import Accepted, Answered, Step
from app.domain.ids import new_id
from app.domain.records import CheckpointRecord
from app.domain.session import SessionRecord, SessionState
from app.service.resources.blobs import BlobSweeper, Integrity
from app.service.resources.read_through_cache import Recent
from app.service.sessions.directories import SessionFolders
from app.service.sessions.state import SessionUse, SessionWorkforce, ended
from app.service.sessions.step_files import SessionInputs, SessionSaves, references, saves
from app.store.unit_of_work import Store

RECENT_MAX = 1024
OPERATION_SECONDS = 0.25
"""How long a question after a step is given, however little its client wants to wait: so long may the answer take."""

REPLAYED = {"Idempotent-Replayed": "true"}


@dataclass(frozen=True, slots=True)
class Carried:
    """What came of a step.

    Attributes:
        status: 200, 201 for a checkpoint that was saved, 202 if the step was accepted and is still to be carried out.
        seq: the place that it took, None if it only read.
        media: the type of the body.
        body: the answer as the client gets it, or the path of a file that holds it, which whoever sends it deletes;
            empty if there is a `checkpoint`.
        checkpoint: what was saved.
        replayed: whether the step was carried out before, and this is what came of it then.
    """

    status: int
    seq: int | None
    media: str = JSON
    body: bytes | Path = b""
    checkpoint: CheckpointRecord | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class _Known:
    """A session as it was last read, and the datasets that it is known to take rows of."""

    session: SessionRecord
    datasets: frozenset[str]


class SessionSteps:
    """Has steps carried out."""

    def __init__(
        self,
        store: Store,
        sweeper: BlobSweeper,
        inputs: SessionInputs,
        saved: SessionSaves,
        folders: SessionFolders,
        workforce: SessionWorkforce,
        use: SessionUse,
        integrity: Integrity,
    ) -> None:
        """Have the `workforce` work; note in `use` which sessions are used, and what is damaged by `integrity`."""
        self._integrity = integrity
        self._store = store
        self._sweeper = sweeper
        self._inputs = inputs
        self._saved = saved
        self._folders = folders
        self._workforce = workforce
        self._use = use
        self._recent: Recent[_Known] = Recent(RECENT_MAX)
        self._asked: dict[tuple[str | None, str, int], asyncio.Task[Carried]] = {}
        store.on_change(self._recent.forget)

    async def carry_out(self, session_id: str, step: Step, body: bytes = b"") -> Carried:
        """Have a step carried out, and return what came of it.

        Raises StepRefused with what keeps it from being carried out, Invalid if it refers to what does not exist,
        NotFound if there is no such session, SessionsFull, Draining or ProcessLost if it should come again.
        """
        known = self._recent.get(session_id)
        if known is None:
            known = await asyncio.to_thread(self._recent.read, session_id, self._read)
        self._check(known.session)
        if step.notify and saves(step):
            # The file has to be taken over by somebody: that is done before the answer, whatever the client prefers.
            step = replace(step, notify=False)
        refers = references(step, known.datasets)
        if not refers.datasets and not refers.checkpoints:
            return await self._carry_out(known.session, step, body)
        with self._sweeper.holding():
            step = await asyncio.to_thread(self._inputs.look_up, session_id, step, refers)
            for dataset_id in refers.datasets.values():
                await self._workforce.attach(session_id, dataset_id)
            self._check(known.session)
            return await self._carry_out(known.session, step, body)

    async def save(self, session: SessionRecord, step_id: str) -> CheckpointRecord:
        """Save a checkpoint of a session for the server's own ends; the same `step_id` gives the same one."""
        carried = await self._carry_out(session, Step(step_id, "save", {}), b"")
        assert carried.checkpoint is not None
        return carried.checkpoint

    async def operation(self, session_id: str, seq: int, wait: float = 0.0) -> Carried:
        """Return what came of a step that was accepted, or after `wait` seconds that it is still being carried out.

        Clients that ask again meanwhile wait for one and the same answer.
        """
        place = (current_tenant(), session_id, seq)
        task = self._asked.get(place)
        if task is None:
            step = Step(new_id("req"), "operation", {"seq": seq})
            task = self._asked[place] = asyncio.create_task(self._asked_for(session_id, step, seq))
            task.add_done_callback(lambda _: self._asked.pop(place, None))
        try:
            return await asyncio.wait_for(asyncio.shield(task), max(wait, OPERATION_SECONDS))
        except TimeoutError:
            return Carried(200, seq, body=json.dumps({"seq": seq, "done": False}).encode())

    async def _asked_for(self, session_id: str, step: Step, seq: int) -> Carried:
        try:
            carried = await self.carry_out(session_id, step)
        except StepRefused as error:
            if REPLAYED.items() <= error.headers.items():
                return Carried(200, seq, body=_told(seq, "error", json.dumps(_problem(error)).encode()))
            raise
        checkpoint = await asyncio.to_thread(self._checkpoint, session_id, seq)
        if checkpoint is not None:
            return replace(carried, checkpoint=checkpoint)
        if carried.media != JSON:
            return carried
        answer = (
            carried.body if isinstance(carried.body, bytes) else await asyncio.to_thread(self._fetched, carried.body)
        )
        return Carried(200, seq, body=_told(seq, "answer", answer))

    def _fetched(self, file: Path) -> bytes:
        content = file.read_bytes()
        self._folders.discard(file)
        return content

    def _checkpoint(self, session_id: str, seq: int) -> CheckpointRecord | None:
        with self._store.begin() as work:
            return work.checkpoints.of_step(session_id, seq)

    def _read(self, session_id: str) -> _Known:
        with self._store.begin() as work:
            return _Known(work.sessions.get(session_id), frozenset(work.sessions.datasets(session_id)))

    def _check(self, session: SessionRecord) -> None:
        """StepRefused unless the session takes steps; it counts as used now."""
        if session.state is not SessionState.ACTIVE:
            raise ended(session, self._workforce.status(session.id).next_seq)
        self._use.note(session)

    async def _carry_out(self, session: SessionRecord, step: Step, body: bytes) -> Carried:
        answered, content = await self._workforce.carry_out(session, step, body)
        if isinstance(answered, Accepted):
            return Carried(202, answered.seq)
        if answered.error is not None:
            await self._note_damage(answered.error)
            raise refused(answered)
        if step.verb == "save":
            return await self._taken_over(session, answered, content)
        file = self._file(session, answered)
        return Carried(200, answered.seq, answered.media, file or content, replayed=answered.replayed)

    async def _note_damage(self, error: Mapping[str, Any]) -> None:
        """Mark what the process of a session has found to be damaged."""
        if error.get("code") == DatasetCorrupt.code:
            await asyncio.to_thread(self._integrity.note, error["blob"], error["detail"])

    async def _taken_over(self, session: SessionRecord, answered: Answered, content: bytes) -> Carried:
        assert answered.seq is not None
        file = self._file(session, answered)
        digest = json.loads(content).get("digest") if content else None
        take_over: Callable[..., CheckpointRecord] = self._saved.take_over
        # The client may go away meanwhile; the checkpoint is stored all the same.
        taking = asyncio.to_thread(take_over, session, answered.seq, file, digest, replayed=answered.replayed)
        checkpoint = await asyncio.shield(asyncio.ensure_future(taking))
        return Carried(201, answered.seq, checkpoint=checkpoint, replayed=answered.replayed)

    def _file(self, session: SessionRecord, answered: Answered) -> Path | None:
        return None if answered.file is None else self._folders.of(session.id) / answered.file


def _told(seq: int, what: str, encoded: bytes) -> bytes:
    return b'{"seq":%d,"done":true,"%s":%s}' % (seq, what.encode(), encoded)


def _problem(error: StepRefused) -> dict[str, Any]:
    """Return what a step was refused with, as it stands in the answer to a question after it."""
    return {
        "status": error.status,
        "title": error.title,
        "code": error.code,
        "detail": error.detail,
        "errors": [asdict(finding) for finding in error.findings],
        **error.extensions,
    }


def refused(answered: Answered) -> StepRefused:
    """Return the error that the process of a session answers a step with."""
    said: dict[str, Any] = dict(answered.error or {})
    findings = [Finding(each["pointer"], each["code"], each["detail"]) for each in said.pop("findings", ())]
    status, title, code, detail = (said.pop(name) for name in ("status", "title", "code", "detail"))
    headers = REPLAYED if answered.replayed else None
    return StepRefused(
        detail, code=code, status=status, title=title, findings=findings, headers=headers, extensions=said
    )
