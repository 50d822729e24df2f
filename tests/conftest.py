import gc
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import local_constants, reporting, schedule
from tests.support.orders import SHARED
from tests.support.rewriting import rewrite_share
from tests.support.server import ServerProcess, StartServer, serving, share_fork_server

MEMORY = Path("/dev/shm")
MEMORY_MIN = 6 * 1024**3
"""Less free memory is left alone: the tests' folders take 1 GiB of it."""

ENGINE_VARIABLES = frozenset({"ADJOINT_VERIFY_PLANS"})


def pytest_configure(config: pytest.Config) -> None:
    """Have every plan proved, and keep the folders of tests in memory: on a disk each commit of theirs waits for it.

    `make chaos` uses the disk. Settings of the user's server and client do not reach those of tests. The processes of
    xdist share one that servers are forked from, which takes seconds to load.
    """
    for name in [name for name in os.environ if name.startswith("ADJOINT_") and name not in ENGINE_VARIABLES]:
        del os.environ[name]
    os.environ.setdefault("ADJOINT_VERIFY_PLANS", "1")
    os.environ.setdefault("LAW_SEED", str(secrets.randbelow(10**9)))  # of tests/engine/random_graphs, in all processes
    if os.environ.get("CHAOS") != "full" and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_MIN:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    if not hasattr(config, "workerinput"):  # no process of xdist, which may start some
        os.environ.pop(SHARED, None)
        if getattr(config.option, "dist", "no") != "no":
            share_fork_server()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seed of random graphs where something failed: a process that has crashed prints none."""
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.write_line(f"LAW_SEED={os.environ['LAW_SEED']}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out folders that `-m` leaves out."""
    return True if schedule.is_left_out(collection_path, config.option.markexpr) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their folders and fixtures, and sort them."""
    schedule.prepare(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> schedule.Schedule | None:
    """Deal out files, those of the engine in parts, where `--dist loadfile` is asked for."""
    return schedule.Schedule(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Leave the millions of objects of thousands of tests, which live to the end, out of all collections of garbage.

    Tests make few cycles, and caches that grow: walking all objects as often as Python does takes a fifth of the time
    in which tests are collected, and 7 % of that in which they run.
    """
    gc.disable()
    rewrite_share(session.config)
    local_constants.read_share(session.config)
    yield
    gc.freeze()
    gc.set_threshold(5_000, 10, 10)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test with few reports, in a process of xdist."""
    return reporting.run_test(item, nextitem)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Start one server for all tests that do not mind what others leave in it."""
    with serving(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="session")
def http(server: ServerProcess) -> httpx.Client:
    return server.http


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Start servers of a test's own, on one data directory unless another is given."""
    with ExitStack() as running:

        def start(data_dir: Path = tmp_path / "data", **settings: Any) -> ServerProcess:
            return running.enter_context(serving(data_dir, **settings))

        yield start
