"""What `make test-cluster` starts: servers that a team runs beside Adjoint."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.extent import FULL
from tests.support import seaweed

PREFIXES = itertools.count(1)
RARE_OUTPUT = "rare"
RARE = pytest.StashKey[int]()
"""The number of tests that were left out since they are rare."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only `make chaos CLUSTER=1` runs."""
    left_out = [] if FULL else [item for item in items if item.get_closest_marker("rare")]
    if left_out:
        config.stash[RARE] = len(left_out)
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    if hasattr(config, "workeroutput"):  # a process of xdist, whose output another one prints
        config.workeroutput[RARE_OUTPUT] = len(left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Note what a process of xdist has left out: each collects all tests."""
    node.config.stash[RARE] = getattr(node, "workeroutput", {}).get(RARE_OUTPUT, 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were left out, and how to run them."""
    left_out = terminalreporter.config.stash.get(RARE, 0)
    if left_out:
        terminalreporter.write_line(f"{left_out} rare tests of tests/cluster are left out: make chaos CLUSTER=1")


@pytest.fixture(scope="session")
def s3_port() -> Iterator[int]:
    """Run one S3 server for all tests."""
    if seaweed.MISSING:
        pytest.skip(seaweed.MISSING)
    with seaweed.seaweed_server() as server:
        yield server.port


@pytest.fixture
def relay(s3_port: int) -> Iterator[seaweed.Relay]:
    """Pass on what goes to the S3 server, or not."""
    made = seaweed.Relay(s3_port)
    yield made
    made.close()


@pytest.fixture
def blob_url(relay: seaweed.Relay) -> str:
    """Return the URL of a prefix that nobody uses, through the relay."""
    return f"s3://{seaweed.BUCKET}/tests/{next(PREFIXES)}?endpoint=http://127.0.0.1:{relay.port}"
