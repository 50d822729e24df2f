"""A crew of processes that are played by threads: what they keep outlives them, as a folder does."""

import asyncio
import contextlib
import itertools
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.config.settings import Settings
from app.domain.clock import SystemClock
from app.domain.frames import Attach, FrameReader, Ready, Step, StepAccepted, StepReply, to_frame
from app.domain.messages import Message, SessionAssignment, Started
from app.domain.records import GraphRecord
from app.domain.session import SessionRecord, SessionState
from app.runner.port import Handle
from app.runner.process_losses import LossPolicy
from app.runner.process_manager import ProcessManager
from app.runner.session_pool import SessionPool
from app.runner.supervisor import Supervisor, SupervisorOptions
from app.service.attempts.attempts import Attempts
from app.service.resources.memory import MemoryPool
from app.service.sessions.attempts import SessionAttempts, SessionConfig
from app.service.sessions.directories import SessionDirs
from app.service.sessions.session_storage import SessionStorage
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store
from app.system.durable import Durable
from tests.support.in_memory_runner import InMemoryRunner
from tests.support.patience import PATIENCE
from tests.support.storage import storage_context

CLOCK = SystemClock()


@dataclass
class Kept:
    """What the processes of a session keep: the steps that were done, with their answers."""

    done: dict[str, StepReply] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)

    @property
    def standing(self) -> dict[str, Any]:
        return {"next_seq": len(self.order) + 1, "step": 0}


class Player(threading.Thread):
    """A process: does each step as its verb says."""

    def __init__(self, runner: "PlayedRunner", handle: Handle, line: socket.socket, kept: Kept) -> None:
        super().__init__(daemon=True)
        self.runner, self.handle, self.line, self.kept = runner, handle, line, kept
        self.heard: list[str] = []
        self.attached: list[str] = []

    def run(self) -> None:
        reader = FrameReader()
        self.say(Ready(self.kept.standing))
        while (data := self.receive()) and self.handle not in self.runner.killed:
            for head, body in reader.feed(data):
                if self.handle in self.runner.killed:
                    break
                if isinstance(head, Attach):
                    self.attached.append(head.dataset)
                elif isinstance(head, Step):
                    self.heard.append(head.id)
                    self.do(head, body)
        self.line.close()

    def receive(self) -> bytes:
        try:
            return self.line.recv(1 << 16)
        except OSError:
            return b""

    def do(self, step: Step, body: bytes) -> None:
        assignment = self.runner.sessions[self.handle]
        poison = assignment.poison
        known = self.kept.done.get(step.id)
        if known is not None:
            self.say(StepReply(step.id, self.kept.standing, known.seq, replayed=True), body)
        elif poison == step.id:
            error = {"status": 422, "title": "Lost", "code": "step_lost_worker", "findings": []}
            error["detail"] = assignment.poisoned_by
            self.finish(step, b"", error)
        elif step.verb == "die":
            self.runner.end(self.handle, step.options.get("of", "out_of_memory"), "it was so")
            self.line.close()
        elif step.verb == "slow":
            self.runner.released.wait(PATIENCE)
            if self.handle not in self.runner.killed:
                self.finish(step, body)
        elif step.verb != "hang":
            self.finish(step, body)

    def finish(self, step: Step, body: bytes, error: dict[str, Any] | None = None) -> None:
        self.kept.order.append(step.id)
        if step.notify:
            self.say(StepAccepted(step.id, len(self.kept.order)))
        answered = self.kept.done[step.id] = StepReply(step.id, self.kept.standing, len(self.kept.order), error=error)
        self.say(answered, body)

    def say(self, head: Any, body: bytes = b"") -> None:
        with contextlib.suppress(OSError):
            self.line.sendall(to_frame(head, body))


class PlayedRunner(InMemoryRunner):
    """Has each process played by a thread."""

    def __init__(self) -> None:
        super().__init__()
        self.exits_on_stop = True
        self.dies_at_start = False
        self.released = threading.Event()
        self.first_words: list[Message] = []
        self.sessions: dict[Handle, SessionAssignment] = {}
        self.players: list[Player] = []
        self.kept: dict[str, Kept] = {}

    def start(self, assignment: Any, line: socket.socket | None = None) -> Handle:
        handle = super().start(assignment, line)
        assert isinstance(assignment, SessionAssignment)
        assert line is not None
        self.sessions[handle] = assignment
        line = self.frame_sockets[handle]
        player = Player(self, handle, line, self.kept.setdefault(assignment.session_id, Kept()))
        self.players.append(player)
        self.report(handle, Started(4000 + len(self.players)), *self.first_words)
        if self.dies_at_start:
            line.close()
            self.end(handle, "error", "it crashed")
        else:
            player.start()
        return handle

    def close(self) -> None:
        self.released.set()
        super().close()


@dataclass
class SessionPoolHarness:
    """A store with sessions in it, and a crew for them."""

    store: Store
    attempts: SessionAttempts
    runner: PlayedRunner
    supervisor: Supervisor
    pool: SessionPool
    folders: SessionDirs
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def session(
        self, session_id: str = "sess_1", state: SessionState = SessionState.ACTIVE, memory_bytes: int | None = None
    ) -> SessionRecord:
        """Store a session."""
        request = {
            "optimizer": {"kind": "sgd"},
            "clip": None,
            "precision": "float32",
            "seed": 0,
            "dataset": None,
            "feeds": {},
            "resources": {},
            "restore": None,
        }
        now = CLOCK.now()
        session = SessionRecord(
            session_id,
            "training",
            state,
            "graph_1",
            request,
            {},
            0,
            3600.0,
            now,
            now,
            memory_bytes=memory_bytes,
        )
        with self.store.begin() as work:
            work.sessions.add(session)
        return session

    def stored(self, session_id: str = "sess_1") -> SessionRecord:
        with self.store.begin() as work:
            return work.sessions.get(session_id)

    def step(self, verb: str = "count", *, seq: int | None = None, notify: bool = False) -> Step:
        return Step(f"step {next(self.numbers)}", verb, {}, seq=seq, notify=notify)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await asyncio.sleep(0.002)


@contextmanager
def session_pool_harness(
    data_dir: Path,
    store: Store,
    memory_pool: MemoryPool | None = None,
    kills: int | None = None,
    *,
    shares: bool = False,
    **settings: Any,
) -> Iterator[SessionPoolHarness]:
    """Set a harness, with so much room in memory, in a system that counts so many `kills` for want of it, if it does.

    If it `shares` sessions, their folders are copies of what is stored. What runs on it is drained in the end.
    """
    blobs = LocalBlobStore(data_dir)
    folders = SessionDirs(data_dir / "sessions", Durable())
    storage = storage_context(store, blobs, data_dir, clock=CLOCK)
    files = SessionStorage(storage, folders, SessionDirs(data_dir / "former", Durable()) if shares else None)
    session_attempts = SessionAttempts(store, blobs, files, SessionConfig())
    runner = PlayedRunner()
    host = ProcessManager(runner)
    chosen = Settings(data_dir=data_dir, **{"drain_seconds": 2.0, **settings})
    attempts = Attempts(storage, data_dir / "staging", lambda _: None)
    supervisor = Supervisor(attempts, runner, chosen, CLOCK, SupervisorOptions(processes=host, memory=memory_pool))
    with store.begin() as work:
        work.graphs.add(GraphRecord("graph_1", "g", "0" * 64, {"inputs": {}}, {}, CLOCK.now()))
    supervisor.start()
    try:
        losses = LossPolicy(host.exit_log, chosen.step_seconds, (0.0,), lambda: kills)
        pool = SessionPool(session_attempts, host, chosen, memory_pool, losses)
        yield SessionPoolHarness(store, session_attempts, runner, supervisor, pool, folders)
    finally:
        supervisor.drain()


OpenHarness = Callable[..., SessionPoolHarness]


def play(harness: SessionPoolHarness, act: Callable[[], Awaitable[None]]) -> None:
    """Run a test's coroutine, which does not take longer than patience lasts, and bring all to its end."""

    async def run() -> None:
        async with asyncio.timeout(PATIENCE):
            try:
                await act()
            finally:
                harness.runner.released.set()
                await asyncio.to_thread(harness.pool.drain)
                await asyncio.to_thread(harness.supervisor.drain)

    asyncio.run(run())
