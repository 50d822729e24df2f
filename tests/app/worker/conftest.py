import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from app.domain.frames import LineReader
from app.domain.messages import Assignment, Message
from app.domain.runtime import allot

GRAPH = {
    "inputs": {"x": ["batch", 2]},
    "parameters": {"w": {"shape": [2], "init": {"kind": "zeros"}}},
    "program": "loss = mean((x @ w - 1.0) ** 2)",
}
RECIPE = {
    "steps": 6,
    "batch_size": 16,
    "optimizer": {"kind": "sgd", "lr": 0.1},
    "checkpoint": {"every_epochs": None, "every_steps": 3, "keep_best": False},
}


class Server:
    """The other end of a worker's socket."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self._lines = LineReader()

    def heard(self) -> list[Message]:
        """Return what was said since the last time."""
        messages: list[Message] = []
        self.channel.setblocking(False)
        try:
            while data := self.channel.recv(1 << 16):
                messages += self._lines.feed(data)
        except BlockingIOError:
            pass
        return messages


@pytest.fixture
def channels() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def channel(channels: tuple[socket.socket, socket.socket]) -> socket.socket:
    """The worker's end."""
    return channels[1]


@pytest.fixture
def server(channels: tuple[socket.socket, socket.socket]) -> Server:
    return Server(channels[0])


@pytest.fixture
def assign(tmp_path: Path) -> Callable[..., Assignment]:
    np.save(tmp_path / "x.npy", np.ones((64, 2), "float32"))
    staging = tmp_path / "staging"
    staging.mkdir()

    def build(resume_from: str | None = None, **request: Any) -> Assignment:
        return Assignment(
            fit_id="fit_1",
            attempt=1,
            token="token",
            definition=engine.parse_graph(GRAPH).to_json(),
            request={**RECIPE, **request},
            columns={"x": [str(tmp_path / "x.npy")]},
            validation_columns=None,
            resume_from=resume_from,
            staging=str(staging),
            runtime=allot({}, None, cores=1, workers=1).to_json(),
        )

    return build
