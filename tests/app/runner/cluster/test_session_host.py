"""The actor's side of a session, with a process of its own, and without Ray."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.domain.errors import StorageUnavailable
from app.domain.frames import Attach, FrameReader, Head, Ready, Step, StepReply, to_frame
from app.domain.messages import Control, Failed, Log, encode
from app.domain.messages import decode as decode_message
from app.runner.cluster import host, session_host
from app.runner.cluster.host import EXIT, REPORT
from app.runner.cluster.protocol import from_text
from app.runner.cluster.session_files import FileChange, MirroredFolder, restorable_files
from app.runner.cluster.session_host import CHANGE, SessionHost
from app.system.durable import Durable
from app.worker.session.session_dir import find_newest, read_log
from tests.app.worker.session.driver import DEMANDING, batch, session_assignment
from tests.support.patience import PATIENCE

IDENTITY = {"code": "0123"}
STEPS = 6


class Served:
    """A session on a node, as the bridge has it: its folder on the server, and what its process has sent."""

    def __init__(self, node: SessionHost, server: Path, attempt: int) -> None:
        self.node = node
        self.folder = MirroredFolder(server, attempt, Durable())
        assert self.folder.try_lock()
        for name in restorable_files(server):
            content = (server / name).read_bytes()
            for offset in range(0, len(content), 1000):
                node.put(name, offset, content[offset : offset + 1000])
        node.begin()
        node.begin()
        self.received = 0
        self.kinds: list[str] = []
        self.messages: list[Any] = []
        self.frames: list[tuple[Head, bytes]] = []
        self.ended: Any = None
        self._reader = FrameReader()
        self._pushed = 0

    def push(self, *frames: tuple[Head, bytes]) -> None:
        """Send frames in pieces, each twice, as after a lost answer."""
        data = b"".join(to_frame(*frame) for frame in frames)
        for place in range(0, len(data), 1000):
            self._pushed += 1
            for _ in range(2):
                self.node.push(self._pushed, data[place : place + 1000])

    def until(self, holds: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end
            _, kept = self.node.exchange(self.received, 0.1)
            for number, kind, text, data in kept:
                assert number == self.received + 1
                self.received = number
                self._note(kind, text, data)

    def _note(self, kind: str, text: str, data: bytes) -> None:
        if kind == CHANGE:
            self.kinds.append(kind)
            self.folder.apply(FileChange(**json.loads(text)), data)
        elif kind == REPORT:
            self.messages.append(decode_message(text.encode()))
            self.kinds.append(type(self.messages[-1]).__name__)
        elif kind == EXIT:
            self.ended = from_text(text.encode())
        else:
            self.frames += self._reader.feed(data)

    def reply(self, step_id: str) -> tuple[StepReply, bytes]:
        def found() -> list[tuple[Head, bytes]]:
            return [frame for frame in self.frames if isinstance(frame[0], StepReply) and frame[0].id == step_id]

        self.until(found)
        head, body = found()[0]
        assert isinstance(head, StepReply)
        return head, body


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Run attempts at one session, each on a node of its own, which the one before does not reach any more."""
    monkeypatch.setattr(host, "END_SECONDS", PATIENCE)
    monkeypatch.setattr(host, "identity", lambda: IDENTITY)
    served: list[Served] = []
    server = tmp_path / "server"
    server.mkdir()

    def start(**fields: Any) -> Served:
        attempt = len(served) + 1
        for earlier in served:
            earlier.folder.close()
        terms = {
            "identity": IDENTITY, "folder": str(tmp_path / f"node-{attempt}"), "blob_url": None, "cache_bytes": 0
        }  # fmt: skip
        told = replace(session_assignment(server, DEMANDING), attempt=attempt, token=f"token-{attempt}", **fields)
        node = SessionHost(encode(told).decode(), terms)
        served.append(Served(node, server, attempt))
        return served[-1]

    yield start
    for each in served:
        each.node.close()


def a_step(number: int) -> tuple[Step, bytes]:
    from app.domain.documents import SAFETENSORS
    from app.ingest.encoding import safetensors_body

    inputs = {name: np.asarray(array) for name, array in batch(number).items()}
    return Step(f"r{number}", "forward_backward", {}, number, media=SAFETENSORS), safetensors_body(inputs)


def test_a_session_is_restored_elsewhere_from_the_copy_on_the_server(serve: Serve) -> None:
    first = serve()
    first.push(*(a_step(number) for number in range(1, STEPS + 1)))
    replies = [first.reply(f"r{number}") for number in range(1, STEPS + 1)]
    assert [head.error for head, _ in replies] == [None] * STEPS
    # The node is lost, with a step that nobody has heard of.
    first.push(a_step(STEPS + 1))
    second = serve(begun=True)
    second.push(*(a_step(number) for number in range(1, STEPS + 2)))
    again = [second.reply(f"r{number}") for number in range(1, STEPS + 1)]
    assert [body for _, body in again] == [body for _, body in replies]
    assert all(head.replayed for head, _ in again)
    assert second.reply(f"r{STEPS + 1}") == first.reply(f"r{STEPS + 1}")


def test_files_are_handed_over_before_what_depends_on_them(serve: Serve) -> None:
    served = serve()
    served.push(a_step(1))
    served.reply("r1")
    served.until(lambda: "Phase" in served.kinds)  # which says that there is a snapshot, by another socket than replies
    assert CHANGE in served.kinds[: served.kinds.index("Phase")]
    assert isinstance(served.frames[0][0], Ready)
    number = find_newest((path.name for path in served.folder.path.iterdir()), has_snapshot=True)
    assert number is not None
    (record,) = read_log(served.folder.path, number)[1:]  # the step, or its reply if a snapshot was due
    assert next(iter(record.head.values()))["id"] == "r1"


def test_a_session_that_is_put_aside_leaves_its_snapshot_on_the_server(serve: Serve) -> None:
    served = serve()
    served.push(a_step(1))
    served.reply("r1")
    served.node.send(encode(Control("drain")).decode(), PATIENCE)
    served.until(lambda: served.ended)
    assert served.ended.reason == "finished"
    assert sorted(restorable_files(served.folder.path)) == ["log-2", "snapshot-2.safetensors"]
    served.node.close()
    assert [*Path(served.node._terms["folder"], "attempts").iterdir()] == []


def test_a_saved_checkpoint_is_on_the_server_when_its_reply_comes(serve: Serve) -> None:
    served = serve()
    served.push(a_step(1), (Step("save", "save", {}, 2), b""))
    head, _ = served.reply("save")
    assert head.file == "saved-2.safetensors"
    assert (served.folder.path / head.file).stat().st_size > 0
    served.until(lambda: not (served.node._folder / head.file).exists())  # type: ignore[operator]  # it has one by now


def test_columns_are_found_at_their_place_on_the_node(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, array in batch(1).items():
        np.save(tmp_path / f"{name}.npy", array)
    calls = []

    def located(_files: object, path: str) -> str:
        calls.append(path)
        if len(calls) == 1:
            raise StorageUnavailable("the storage is away")
        return str(tmp_path / Path(path).name)

    monkeypatch.setattr(host, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr("app.runner.cluster.node_files.SharedFiles.locate", located)
    served = serve()
    attach = Attach("ds_1", {name: [f"elsewhere/{name}.npy"] for name in ("x", "label")})
    rows = {"rows": {"dataset": "ds_1", "start": 0, "stop": 8}}
    served.push((attach, b""), (Step("rows", "forward_backward", rows, 1), b""), a_step(2))
    head, _ = served.reply("rows")
    assert head.error is None
    assert calls == ["elsewhere/x.npy", "elsewhere/x.npy", "elsewhere/label.npy"]
    assert [message.code for message in served.messages if isinstance(message, Log)] == ["storage_unavailable"]


@pytest.mark.parametrize("where", ["assignment", "step"])
def test_a_file_that_the_node_does_not_see_ends_the_attempt_and_not_the_session(
    serve: Serve, tmp_path: Path, where: str
) -> None:
    missing = {"x": [str(tmp_path / "missing.npy")]}
    served = serve(datasets={"ds_1": missing} if where == "assignment" else {})
    if where == "step":
        served.push((Attach("ds_1", missing), b""))
    served.until(lambda: served.ended)
    assert served.ended.reason in ("error", "killed")
    assert not any(isinstance(message, Failed) for message in served.messages)


def test_a_session_that_nobody_asks_for_leaves_the_node(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    left = []
    monkeypatch.setattr(SessionHost, "leave", lambda node: left.append(node))
    monkeypatch.setattr(session_host, "FORGOTTEN_SECONDS", 0.1)
    served = serve()
    folder = Path(served.node._terms["folder"], "attempts")
    end = time.monotonic() + PATIENCE
    while not left or [*folder.iterdir()]:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert left == [served.node]
