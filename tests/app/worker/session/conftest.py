from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .driver import MLP, Desk, Runner, running, session_assignment


@pytest.fixture(scope="session")
def session_runner() -> Iterator[Runner]:
    with running() as runner:
        yield runner


@pytest.fixture
def session(session_runner: Runner, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Makes sessions, each in a folder of its own."""
    desks: list[Desk] = []

    def make(graph: Any = MLP, optimizer: Any = "adam", **request: Any) -> Desk:
        folder = tmp_path / f"session{len(desks)}"
        folder.mkdir()
        desks.append(Desk(session_runner, session_assignment(folder, graph, optimizer, **request)))
        return desks[-1]

    yield make
    for desk in desks:
        desk.close()
