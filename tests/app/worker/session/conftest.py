from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .driver import MLP, Runner, SessionHarness, running, session_assignment


@pytest.fixture(scope="session")
def session_runner() -> Iterator[Runner]:
    with running() as runner:
        yield runner


@pytest.fixture
def session(session_runner: Runner, tmp_path: Path) -> Iterator[Callable[..., SessionHarness]]:
    """Makes sessions, each in a folder of its own."""
    processors: list[SessionHarness] = []

    def make(graph: Any = MLP, optimizer: Any = "adam", **request: Any) -> SessionHarness:
        folder = tmp_path / f"session{len(processors)}"
        folder.mkdir()
        processors.append(SessionHarness(session_runner, session_assignment(folder, graph, optimizer, **request)))
        return processors[-1]

    yield make
    for harness in processors:
        harness.close()
