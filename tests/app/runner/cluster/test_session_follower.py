"""Following a session: what is stored before what is passed on, and how it ends. Ray and the actor are played."""

import asyncio
import gc
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from app.domain.messages import Log, encode
from app.runner.cluster import actor_end, follower, session_follower
from app.runner.cluster.bridge import Bridge
from app.runner.cluster.follower import Nodes
from app.runner.cluster.host import EXIT, REPORT
from app.runner.cluster.protocol import Acknowledge, Adopt, Connect, Ended, Event, Reported, StartSession, to_text
from app.runner.cluster.session_files import FileChange, MirroredFolder
from app.runner.cluster.session_follower import SessionFollower
from app.runner.cluster.session_host import CHANGE, FRAMES
from app.system.durable import Durable
from tests.support.patience import PATIENCE

from .conftest import TOKEN, FakeRay
from .test_follower import Call, until

SESSION = "sess_1"
SNAPSHOT = FileChange("snapshot-1.safetensors", "write", 0, True)


class Actor:
    """An actor on a node: it hands out what it is given, and notes what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.files: dict[str, bytes] = {}
        self.pushed = b""
        self.has_place = True
        self.placing = 0
        self.kept: list[tuple[int, str, str, bytes]] = []
        self.is_gone = False
        for name in ("place", "put", "begin", "push", "exchange", "close"):
            setattr(self, name, Call(getattr(self, f"_{name}")))

    def hand_out(self, kind: str, text: str = "", data: bytes = b"") -> None:
        self.kept.append((len(self.kept) + 1, kind, text, data))

    def change(self, change: FileChange, data: bytes) -> None:
        self.hand_out(CHANGE, json.dumps(asdict(change)), data)

    def die(self, _actor: object = None) -> None:
        """Be killed."""
        self.asked.append("kill")
        self.is_gone = True

    async def _place(self) -> tuple[str, str | None]:
        from ray.exceptions import RayActorError

        self.placing += 1
        try:
            while not self.has_place:
                if self.is_gone:
                    raise RayActorError("it never ran")
                await asyncio.sleep(0.001)
        finally:
            self.placing -= 1
        return "node-1", None

    async def _put(self, name: str, offset: int, data: bytes) -> None:
        assert len(self.files.get(name, b"")) == offset
        self.files[name] = self.files.get(name, b"") + data

    async def _begin(self) -> None:
        self.asked.append("begin")

    async def _push(self, _number: int, data: bytes) -> None:
        self.pushed += data

    async def _exchange(self, after: int, _wait: float) -> Any:
        from ray.exceptions import RayActorError

        while not self.is_gone:
            if kept := self.kept[after:]:
                return True, kept
            await asyncio.sleep(0.001)
        raise RayActorError("the actor is dead")

    async def _close(self) -> None:
        self.asked.append("close")


class World:
    """A bridge with one session, and the server's end of its frames."""

    def __init__(self, ray: FakeRay, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.actor, self.earlier = Actor(), Actor()
        self.folder = folder
        self.nodes = Nodes()
        self.events: list[Event] = []
        self.order = StartSession(TOKEN, "{}", str(folder), 1, 1 << 20, SESSION, 2)
        self.frames, self.bridge_frames = socket.socketpair()
        self.frames.setblocking(False)
        actors = self._actors = {f"{SESSION}/other": self.earlier, "sess_10/other": Actor(), "a-fit": Actor()}
        ray.on_kill = lambda actor: actor.die()
        monkeypatch.setattr(ray, "list_named_actors", lambda: [*actors], raising=False)
        monkeypatch.setattr(ray, "get_actor", actors.__getitem__, raising=False)
        monkeypatch.setattr(SessionFollower, "_create", lambda *_: self.actor)

    def play(self, act: Callable[[SessionFollower], Awaitable[None]], *, started: bool = True) -> None:
        """Follow the session while `act` runs."""

        async def run() -> None:
            followed = SessionFollower(self.order, self.bridge_frames, self.nodes, self.events.append)
            followed.start(self.order, {})
            if started:
                await until(lambda: "begin" in self.actor.asked)
            await act(followed)
            await followed.forget()
            assert followed._task is not None
            await asyncio.wait([followed._task])

        asyncio.run(asyncio.wait_for(run(), PATIENCE))
        # Another attempt may go on.
        if self.folder.is_dir():
            assert MirroredFolder(self.folder, 3, Durable()).try_lock()

    @property
    def others(self) -> dict[str, list[str]]:
        """What was asked of actors that are not at this session."""
        return {name: actor.asked for name, actor in self._actors.items() if not name.startswith(f"{SESSION}/")}

    @property
    def ends(self) -> list[tuple[str, bool]]:
        return [(event.reason, event.asked) for event in self.events if isinstance(event, Ended)]

    def received(self) -> bytes:
        try:
            return self.frames.recv(1 << 16)
        except BlockingIOError:
            return b""


@pytest.fixture
def world(ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for module, name in (
        (follower, "SILENT_SECONDS"), (follower, "END_SECONDS"), (actor_end, "CLOSE_SECONDS"),
        (actor_end, "KILL_SECONDS"), (session_follower, "PLACED_SECONDS"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, PATIENCE)
    monkeypatch.setattr(session_follower, "CLAIM_SECONDS", 0.001)
    folder = tmp_path / SESSION
    folder.mkdir()
    made = World(ray, folder, monkeypatch)
    with made.frames, made.bridge_frames:
        yield made


def test_a_node_gets_the_files_of_the_session_and_hands_back_what_it_writes(world: World) -> None:
    content = {"snapshot-7.safetensors": b"s" * 10, "log-7": b"", "saved-3.safetensors": b"x", "answer-1-1": b"x"}
    for name, data in content.items():
        (world.folder / name).write_bytes(data)

    async def act(_followed: SessionFollower) -> None:
        world.frames.setblocking(False)
        world.frames.send(b"steps")
        await until(lambda: world.actor.pushed == b"steps")
        world.actor.change(FileChange("log-7", "append"), b"a step")
        world.actor.hand_out(FRAMES, data=b"a reply")
        world.actor.hand_out(REPORT, encode(Log("info", "a line")).decode())
        world.actor.hand_out(EXIT, to_text(Ended(TOKEN, "finished", "done")).decode())
        await until(lambda: bool(world.ends))

    world.play(act)
    assert world.actor.files == {"snapshot-7.safetensors": b"s" * 10, "log-7": b""}
    assert (world.folder / "log-7").read_bytes() == b"a step"
    assert world.received() == b"a reply"
    assert world.ends == [("finished", False)]
    assert [event.number for event in world.events if isinstance(event, Reported)] != []
    assert world.earlier.asked == ["close", "kill"]
    assert world.actor.asked == ["begin", "close", "kill"]


def test_nothing_is_passed_on_after_a_step_that_could_not_be_stored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "no space is left")

    monkeypatch.setattr(MirroredFolder, "apply", fail)

    async def act(_followed: SessionFollower) -> None:
        world.actor.change(SNAPSHOT, b"content")
        world.actor.hand_out(FRAMES, data=b"a reply")
        await until(lambda: bool(world.ends) and "kill" in world.actor.asked)

    world.play(act)
    assert world.received() == b""
    assert world.ends == [("not_stored", False)]


def test_a_session_whose_folder_is_deleted_ends_and_makes_none_anew(world: World) -> None:
    async def act(_followed: SessionFollower) -> None:
        (world.folder / "lock").unlink()
        world.folder.rmdir()
        world.actor.change(SNAPSHOT, b"content")
        await until(lambda: bool(world.ends))

    world.play(act)
    assert world.ends == [("killed", True)]
    assert not world.folder.exists()


def test_a_session_without_a_folder_does_not_begin(world: World) -> None:
    world.folder.rmdir()

    async def act(_followed: SessionFollower) -> None:
        await until(lambda: bool(world.ends))

    world.play(act, started=False)
    assert world.ends == [("killed", True)]
    assert world.actor.asked == []


def test_a_later_attempt_of_another_server_gets_the_folder(world: World) -> None:
    async def act(_followed: SessionFollower) -> None:
        later = MirroredFolder(world.folder, 3, Durable())
        await until(later.try_lock)
        later.close()
        await until(lambda: bool(world.ends))
        world.actor.change(SNAPSHOT, b"content")

    world.play(act)
    assert world.ends == [("killed", False)]
    assert [path.name for path in world.folder.iterdir()] == ["lock"]


def test_an_attempt_waits_for_the_folder_and_may_be_killed_meanwhile(world: World) -> None:
    other = MirroredFolder(world.folder, 1, Durable())
    assert other.try_lock()

    async def act(followed: SessionFollower) -> None:
        await until(lambda: any(isinstance(event, Reported) for event in world.events))  # a heartbeat
        await followed.kill()
        other.close()

    world.play(act, started=False)
    assert world.ends == [("killed", True)]
    assert world.actor.asked == []


def test_a_session_that_finds_no_node_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_follower, "PLACED_SECONDS", 0.01)
    world.actor.has_place = False
    world.nodes.avoid("0123456789", "it has Ray 3.0 (the server has 2.0)")

    untaken: list[Any] = []

    async def act(_followed: SessionFollower) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: untaken.append(context))
        await until(lambda: bool(world.ends) and "kill" in world.actor.asked and not world.actor.placing)
        await asyncio.sleep(0)
        gc.collect()  # a task whose error nobody has taken is reported when it is deleted

    world.play(act, started=False)
    assert untaken == []
    assert world.ends == [("no_node", False)]
    (detail,) = (event.detail for event in world.events if isinstance(event, Ended))
    assert detail.endswith("or add a node (not used now: node 01234567: it has Ray 3.0 (the server has 2.0))")
    assert "begin" not in world.actor.asked


def test_a_killed_actor_deletes_its_files_first(world: World) -> None:
    async def act(followed: SessionFollower) -> None:
        await followed.kill()

    world.play(act)
    assert world.actor.asked[:3] == ["begin", "close", "kill"]
    assert world.ends == [("killed", True)]


def test_the_leader_leaves_sessions_to_their_servers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lines:
        def write(self, _line: bytes) -> None:
            pass

    monkeypatch.setattr("app.runner.cluster.bridge.identity", dict)

    async def run(ours: socket.socket, theirs: socket.socket) -> None:
        bridge = Bridge(Lines(), Connect("", None, "", None, None, 0, 0.0), theirs)  # type: ignore[arg-type]  # a writer
        with world.bridge_frames:
            socket.send_fds(ours, [TOKEN.encode()], [world.bridge_frames.fileno()])
        await bridge.handle(world.order)
        await until(lambda: "begin" in world.actor.asked)
        await bridge.handle(Adopt([], True, []))
        world.actor.hand_out(FRAMES, data=b"a reply")
        await until(lambda: world.received() == b"a reply")
        await bridge.handle(Acknowledge(TOKEN, None))
        await until(lambda: world.actor.asked == ["begin", "close", "kill"] and len(world.others["a-fit"]) == 2)

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        asyncio.run(asyncio.wait_for(run(ours, theirs), PATIENCE))
    assert world.others == {"sess_10/other": [], "a-fit": ["close", "kill"]}
