"""Processes of a session as the server has them: forked by a real runner, their steps sent over a real line."""

import itertools
import json
import select
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import engine
from app.domain.clock import SystemClock
from app.domain.documents import SAFETENSORS
from app.domain.frames import Attach, FrameReader, Head, Ready, Step, StepAccepted, StepReply, to_frame
from app.domain.messages import Message, SessionAssignment
from app.domain.runtime import allot
from app.ingest.encoding import safetensors_body
from app.runner.local import LocalRunner
from app.runner.port import Exited, Handle, Report
from tests.support.patience import PATIENCE

MLP = {
    "inputs": {"x": {"shape": ["batch", 4]}, "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 8, "activation": "relu"}, {"layer": "linear", "units": 3}],
    "loss": {"kind": "cross_entropy", "target": "label"},
}
# Whatever a replay could get wrong: random numbers, running statistics, momenta.
DEMANDING = {
    **MLP,
    "layers": [
        {"layer": "linear", "units": 8, "activation": "relu"},
        {"layer": "batch_norm"},
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 3},
    ],
}
LINE = {
    "inputs": {"x": ["batch", 2]},
    "parameters": {"w": {"shape": [2], "init": {"kind": "zeros"}}},
    "program": "pred = x @ w\nloss = mean((pred - 1.0) ** 2)",
    "outputs": ["pred"],
}


class Lost(Exception):
    """The process is gone; what was not answered has to be sent again."""


class Runner(LocalRunner):
    """A runner that sends each process of the tests its own news."""

    def __init__(self) -> None:
        super().__init__(SystemClock())
        self.processes: dict[Handle, Process] = {}

    def listen(self, timeout: float) -> None:
        for news in self.receive(timeout):
            self.processes[news.handle].note(news)


@dataclass
class Process:
    """One process of a session."""

    runner: "Runner"
    handle: Handle
    line: socket.socket
    assignment: SessionAssignment
    said: list[Message] = field(default_factory=list)
    exited: Exited | None = None
    _frames: FrameReader = field(default_factory=FrameReader)
    _unread: list[tuple[Head, bytes]] = field(default_factory=list)
    _answers: dict[str, tuple[StepReply, bytes]] = field(default_factory=dict)
    accepted: dict[str, int] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """Ids of steps as they were answered."""

    _numbers = itertools.count()

    def ready(self) -> dict[str, Any]:
        """Wait until it has taken the session up; return its standing."""
        head, _ = self._next()
        assert isinstance(head, Ready), head
        return head.standing

    def send(self, verb: str, arrays: Mapping[str, Any] | None = None, **options: Any) -> str:
        """Send a step; fields of a Step are taken as such, anything else is an option."""
        known = ("id", "key", "accept", "notify", "files", *(("seq",) if verb != "operation" else ()))
        fields = {name: options.pop(name) for name in known if name in options}
        fields.setdefault("id", f"r{next(self._numbers)}")
        media, body = options.pop("media", None), options.pop("body", b"")
        if arrays is not None:
            media, body = SAFETENSORS, safetensors_body({n: np.asarray(a) for n, a in arrays.items()})
        step = Step(verb=verb, options=options, media=media, **fields)
        self.send_step(step, body)
        return step.id

    def send_step(self, step: Step, body: bytes) -> None:
        with suppress(OSError):
            self.line.sendall(to_frame(step, body))

    def attach(self, dataset: str, columns: dict[str, list[str]]) -> None:
        self.line.sendall(to_frame(Attach(dataset, columns)))

    def answer(self, id: str) -> tuple[StepReply, bytes]:
        """Wait for what came of a step. Lost if the process is gone before."""
        while id not in self._answers:
            head, body = self._next()
            if isinstance(head, StepAccepted):
                self.accepted[head.id] = head.seq
            if isinstance(head, StepReply):
                self._answers[head.id] = head, body
                self.order.append(head.id)
        return self._answers.pop(id)

    def do(self, verb: str, arrays: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """Have a step carried out; return its JSON."""
        head, body = self.answer(self.send(verb, arrays, **options))
        assert head.error is None, head.error
        document: dict[str, Any] = json.loads(body)
        return document

    def refused(self, verb: str, arrays: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """Send a step that is refused; return why."""
        head, _ = self.answer(self.send(verb, arrays, **options))
        assert head.error is not None, "it was carried out"
        return head.error

    def parameters(self) -> dict[str, bytes]:
        """Return the bits of all parameters, gradients and buffers."""
        bits = {}
        for kind in ("parameters", "gradients", "buffers"):
            _, body = self.answer(self.send(kind, accept=SAFETENSORS))
            bits[kind] = body
        return bits

    def drain(self) -> None:
        self.runner.stop(self.handle, "drain", PATIENCE)

    def kill(self) -> None:
        self.runner.kill(self.handle)

    def end(self) -> Exited:
        """Wait until it is gone."""
        until = time.monotonic() + PATIENCE
        while self.exited is None:
            assert time.monotonic() < until, "the process lives on"
            self.runner.listen(1.0)
        return self.exited

    def note(self, news: Report | Exited) -> None:
        if isinstance(news, Exited):
            self.exited = news
        else:
            self.said.append(news.message)

    def _next(self) -> tuple[Head, bytes]:
        until = time.monotonic() + PATIENCE
        while not self._unread:
            assert time.monotonic() < until, "the process says nothing"
            # The runner has to hand over the assignment.
            self.runner.listen(0)
            if not select.select([self.line], [], [], 0.01)[0]:
                continue
            try:
                data = self.line.recv(1 << 20)
            except ConnectionResetError:
                data = b""
            if not data:
                raise Lost
            self._unread += self._frames.feed(data)
        return self._unread.pop(0)


@dataclass
class SessionHarness:
    """A session: a folder, and what is to be done there by one process after another."""

    runner: "Runner"
    assignment: SessionAssignment
    processes: list[Process] = field(default_factory=list)

    numbers = itertools.count()

    def start(self, **changes: Any) -> Process:
        """Start a process, without waiting for it."""
        assignment = replace(
            self.assignment,
            attempt=len(self.processes) + 1,
            token=f"token {next(SessionHarness.numbers)}",
            **changes,
        )
        ours, theirs = socket.socketpair()
        with theirs:
            handle = self.runner.start(assignment, theirs)
        process = self.runner.processes[handle] = Process(self.runner, handle, ours, assignment)
        self.processes.append(process)
        return process

    def open(self, **changes: Any) -> Process:
        """Start a process, and wait until it is ready."""
        process = self.start(**changes)
        process.ready()
        return process

    def folder(self) -> Path:
        return Path(self.assignment.folder)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.end()
            process.line.close()


def session_assignment(
    folder: Path, graph: Mapping[str, Any], optimizer: Any = "adam", precision: str = "float32", **request: Any
) -> SessionAssignment:
    """Return what the process of a session is given."""
    reported = {"optimizer": optimizer, "seed": 3, "precision": precision, "clip": None, "dataset": None, "feeds": {}}
    return SessionAssignment(
        session_id="sess_1",
        attempt=1,
        token="t",
        kind="training",
        definition=engine.parse_graph(graph).to_json(),
        request={**reported, **request},
        start_from=None,
        restore=None,
        folder=str(folder),
        datasets={},
        saved=[],
        runtime=allot({"executor": "numpy"}, None, cores=1, workers=1).to_json(),
    )


@contextmanager
def running() -> Iterator[Runner]:
    runner = Runner()
    try:
        runner.open()
        yield runner
    finally:
        runner.close()


def batch(seed: int, rows: int = 8) -> dict[str, Any]:
    """Return inputs for `MLP`."""
    random = np.random.default_rng(seed)
    return {"x": random.standard_normal((rows, 4)).astype(np.float32), "label": random.integers(0, 3, rows)}
