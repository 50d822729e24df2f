"""Whatever a test here does to a server, that server is none the worse for it."""

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.security.target_server import AttackFixture
from tests.support.patience import PATIENCE


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackFixture]:
    """Start the servers that a module attacks."""
    with ExitStack() as running:
        yield AttackFixture(running, tmp_path_factory.mktemp("attack"))


@pytest.fixture(autouse=True)
def _none_the_worse(request: pytest.FixtureRequest) -> Iterator[None]:
    """See after every test with a server that it is well, no larger, and has no file more."""
    if "attack" not in request.fixturenames:
        yield
        return
    attack: AttackFixture = request.getfixturevalue("attack")
    attack.files_may_be_left = False
    held = [each.files() for each in attack.targets]
    yield
    for each in attack.targets:
        each.check_health()
    if not attack.files_may_be_left:
        _until_no_more(attack, held)


def _until_no_more(attack: AttackFixture, held: list[set[str]]) -> None:
    """Wait for files that are deleted behind an answer, for a while."""
    end = time.monotonic() + PATIENCE
    for each, before in zip(attack.targets, held, strict=True):
        while left := each.files() - before:
            assert time.monotonic() < end, left
            time.sleep(0.05)
