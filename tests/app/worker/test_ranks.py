"""Ranks as real processes, forked by a worker that a real fork server forked."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

import engine
from app.domain.frames import FORK, FORK_SERVER, KILL, ORDER
from app.worker import ranks
from app.worker.process import OUT_OF_MEMORY_SCORE
from app.worker.process_group import EXIT_FAULT
from tests.app.runner.conftest import all_end
from tests.support.patience import PATIENCE

SIZE = 3
# The worker's own way through a fit, but for the fit: its ranks play the scene that the test names.
SCRIPT = """
import json, os, signal, socket, threading, time
import numpy as np
import engine
from app.worker import fork_server, forking, process, ranks

def descriptors():
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            pass
    return sorted(found.values())

def play(scene, collective):
    if scene == "introduce":
        return collective.gather(json.dumps(descriptors()).encode())
    last = collective.rank == collective.size - 1
    buffer = np.ones(1000)
    while scene != "apart":
        if last and scene.startswith("exit"):
            os._exit(int(scene.split()[1]))
        if last and scene.startswith("signal"):
            signal.raise_signal(int(scene.split()[1]))
        if last and scene == "abort":
            return collective.abort(b"no more rows")
        if last and scene == "break":
            raise ValueError("a fault")
        if scene == "disagree":
            buffer = np.ones(10 + last)
        collective.allreduce_(buffer)
    threading.Event().wait()

def serve(channel, line, kernels):
    scene = channel.recv(100).decode()
    def follow(collective):
        collective.gather(str(os.getpid()).encode())
        play(scene, collective)
    others = ranks.fork_ranks(SIZE, channel, follow)
    pids = others.collective.gather(str(os.getpid()).encode())
    channel.sendall(json.dumps([int(pid) for pid in pids]).encode() + b"\\n")
    def look():
        while True:
            time.sleep(0.05)
            others.check()
    threading.Thread(target=look, daemon=True).start()
    try:
        said = play(scene, others.collective) or []
        words = [json.loads(part) for part in said], os.fstat(channel.fileno()).st_ino
    except engine.RankLost:
        others.exit_with_peer()
    except engine.RankAborted as error:
        words = error.reason.decode()
    except engine.CollectiveError as error:
        words = str(error)
    others.end()
    channel.sendall(json.dumps(words).encode() + b"\\n")

process._serve = serve
forking.STANDBY_SECONDS = 1e6  # none waits for an order: tests end without a child
fork_server.main()
""".replace("SIZE", str(SIZE))


@dataclass
class Family:
    """A worker and its ranks, as the server sees them."""

    number: int
    channel: socket.socket
    pids: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lines = self.channel.makefile("rb")

    def hear(self) -> Any:
        """Return the next thing it says; None at the end."""
        line = self._lines.readline()
        return json.loads(line) if line else None

    def close(self) -> None:
        self._lines.close()
        self.channel.close()


@dataclass
class Parent:
    """A fork server, and the orders that it gets."""

    process: subprocess.Popen[bytes]
    orders: socket.socket
    families: list[Family] = field(default_factory=list)

    def start(self, scene: str) -> Family:
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE)
        family = Family(len(self.families) + 1, ours)
        self.families.append(family)
        with theirs:
            socket.send_fds(self.orders, [ORDER.pack(family.number, FORK)], [theirs.fileno()])
        ours.sendall(scene.encode())
        family.pids = family.hear()
        return family

    def await_end(self, family: Family) -> int:
        """Return how the worker ended."""
        number = FORK_SERVER
        while number == FORK_SERVER:
            number, status = ORDER.unpack(self.orders.recv(ORDER.size, socket.MSG_WAITALL))
        assert number == family.number
        return int(status)

    def await_childless(self) -> None:
        """Wait until every process below is gone and buried; a zombie would still be a child."""
        end = time.monotonic() + PATIENCE
        while children := psutil.Process(self.process.pid).children(recursive=True):
            assert time.monotonic() < end, children
            time.sleep(0.01)


def started() -> Parent:
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    environment = {**os.environ, "PYTHONPATH": str(Path(engine.__file__).parents[1]), "OPENBLAS_NUM_THREADS": "1"}
    with theirs:
        command = [sys.executable, "-c", SCRIPT]
        process = subprocess.Popen(command, stdin=theirs.fileno(), stderr=subprocess.DEVNULL, env=environment)
    return Parent(process, ours)


@pytest.fixture(scope="module")
def lasting() -> Iterator[Parent]:
    parent = started()
    yield parent
    parent.orders.close()
    for family in parent.families:
        family.close()
    assert parent.process.wait(PATIENCE) == 0


@pytest.fixture
def parent(lasting: Parent) -> Iterator[Parent]:
    """One for all; each test leaves it without a child."""
    yield lasting
    lasting.await_childless()


@pytest.mark.parametrize("scene", ["together", "apart"])
@pytest.mark.parametrize("victim", range(SIZE))
def test_a_killed_rank_takes_the_others_along(parent: Parent, victim: int, scene: str) -> None:
    family = parent.start(scene)
    with all_end(family.pids, seconds=PATIENCE):
        os.kill(family.pids[victim], signal.SIGKILL)
    assert family.hear() is None
    assert parent.await_end(family) == -signal.SIGKILL


def test_the_runner_kills_all_ranks_at_once(parent: Parent) -> None:
    family = parent.start("apart")
    with all_end(family.pids, seconds=PATIENCE):
        parent.orders.sendall(ORDER.pack(family.number, KILL))
    assert parent.await_end(family) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("scene", "status"),
    [
        ("exit 1", 1),  # as OpenBLAS ends without memory
        ("exit 137", 137),
        (f"signal {signal.SIGSEGV}", -signal.SIGSEGV),
        (f"signal {signal.SIGKILL}", -signal.SIGKILL),
        ("break", EXIT_FAULT),
        ("exit 0", EXIT_FAULT),  # well, but before its time
    ],
)
def test_the_server_hears_how_the_lost_rank_ended(parent: Parent, scene: str, status: int) -> None:
    family = parent.start(scene)
    assert family.hear() is None
    assert parent.await_end(family) == status


@pytest.mark.parametrize(
    ("scene", "words"),
    [("abort", "no more rows"), ("disagree", "allreduce_ of 10 float64, rank 2 at allreduce_ of 11")],
)
def test_a_rank_that_shows_why_it_cannot_go_on_leaves_the_verdict_to_the_first(
    parent: Parent, scene: str, words: str
) -> None:
    family = parent.start(scene)
    with all_end(family.pids, seconds=PATIENCE):
        assert words in family.hear()
    assert parent.await_end(family) == 0


def test_a_rank_has_only_what_is_its_own(parent: Parent) -> None:
    family = parent.start("introduce")
    descriptors, channel = family.hear()
    pipes = [[name for name in names if name.startswith("pipe:")] for names in descriptors]
    shared = set(pipes[0]) & set(pipes[1]) & set(pipes[2])
    assert [len(set(names) - shared) for names in pipes] == [2 * (SIZE - 1), *[2] * (SIZE - 1)]
    assert [f"socket:[{channel}]" in names for names in descriptors] == [True, False, False]
    assert not [name for names in descriptors for name in names if "shm" in name]
    assert parent.await_end(family) == 0


def test_ranks_are_as_modest_as_their_worker_and_only_the_server_stops_them(parent: Parent) -> None:
    family = parent.start("together")
    unwanted = 1 << (signal.SIGINT - 1) | 1 << (signal.SIGTERM - 1)
    for pid in family.pids:
        status = Path(f"/proc/{pid}/status").read_text()
        ignored = int(next(line for line in status.splitlines() if line.startswith("SigIgn")).split()[1], 16)
        assert ignored & unwanted == unwanted
        assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == str(OUT_OF_MEMORY_SCORE)
    parent.orders.sendall(ORDER.pack(family.number, KILL))
    assert parent.await_end(family) == -signal.SIGKILL


@pytest.mark.parametrize("end", [subprocess.Popen.kill, lambda process: None], ids=["killed", "left"])
def test_no_rank_outlives_the_fork_server(end: Callable[[Any], None]) -> None:
    parent = started()
    families = [parent.start("apart"), parent.start("together")]
    with all_end([parent.process.pid, *families[0].pids, *families[1].pids], seconds=PATIENCE):
        end(parent.process)
        parent.orders.close()
    parent.process.wait()
    for family in families:
        family.close()


def test_a_fit_of_one_rank_needs_no_other_process(channel: socket.socket) -> None:
    alone = ranks.fork_ranks(1, channel, lambda collective: pytest.fail("nobody follows"))
    assert (alone.collective.rank, alone.collective.size) == (0, 1)
    alone.check()
    alone.end()
    assert channel.fileno() >= 0
