"""Whatever a test here does to a server, that server is none the worse for it."""

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.conftest import PATIENCE
from tests.hostile.siege import Siege


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siege]:
    """Start the servers that a module attacks."""
    with ExitStack() as running:
        yield Siege(running, tmp_path_factory.mktemp("siege"))


@pytest.fixture(autouse=True)
def _none_the_worse(request: pytest.FixtureRequest) -> Iterator[None]:
    """See after every test with a server that it is well, no larger, and has no file more."""
    if "siege" not in request.fixturenames:
        yield
        return
    siege: Siege = request.getfixturevalue("siege")
    siege.files_may_be_left = False
    held = [each.files() for each in siege.besieged]
    yield
    for each in siege.besieged:
        each.check_health()
    if not siege.files_may_be_left:
        _until_no_more(siege, held)


def _until_no_more(siege: Siege, held: list[set[str]]) -> None:
    """Wait for files that are deleted behind an answer, for a while."""
    end = time.monotonic() + PATIENCE
    for each, before in zip(siege.besieged, held, strict=True):
        while left := each.files() - before:
            assert time.monotonic() < end, left
            time.sleep(0.05)
