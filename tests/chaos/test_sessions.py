import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.cli.restoration import restored
from tests.chaos.conftest import Counts
from tests.support.server import ServerProcess, StartServer

GRAPH = {
    "inputs": {"x": {"shape": ["batch", 4]}, "y": {"shape": ["batch", 1]}},
    "layers": [
        {"layer": "linear", "units": 8, "activation": "relu"},
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 1},
    ],
    "loss": {"kind": "mse", "target": "y"},
}
ROUNDS = 12
Disturb = Callable[[int], None]


@pytest.fixture
def _only_at_full_counts(counts: Counts) -> None:
    if not counts.full:
        pytest.skip("this starts servers anew, which takes most of its time: make chaos does")


full_counts = pytest.mark.usefixtures("_only_at_full_counts")


def reports(response: httpx.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    return response.json()


def begin(http: httpx.Client, **request: Any) -> str:
    # The other executor takes a while to load, which is another matter.
    whole = {"graph": GRAPH, "seed": 3, "resources": {"executor": "numpy"}, **request}
    session: str = reports(http.post("/v1/sessions", json=whole), 201)["id"]
    return session


def train(http: httpx.Client, session: str, rounds: range, disturb: Disturb = lambda _: None) -> list[float]:
    """Take rounds of two steps each, and return the losses; `disturb` is called before each round."""
    losses = []
    for number in rounds:
        disturb(number)
        inputs = {"x": [[number, 1.0, -1.0, 0.5], [0.25, number, 2.0, -3.0]], "y": [[1.0], [0.0]]}
        step = {"inputs": inputs, "seq": 2 * number + 1}
        losses.append(reports(http.post(f"/v1/sessions/{session}:forward_backward", json=step))["loss"])
        reports(http.post(f"/v1/sessions/{session}:optim_step", json={"seq": 2 * number + 2}))
    return losses


def saved(http: httpx.Client, session: str) -> str:
    """Return the digest of all that a session holds."""
    digest: str = reports(http.post(f"/v1/sessions/{session}:save", json={}), 201)["digest"]
    return digest


def pid_of(http: httpx.Client, session: str) -> int | None:
    pids = [worker["pid"] for worker in reports(http.get("/v1/system"))["workers"] if worker["session"] == session]
    return pids[0] if pids else None


@pytest.fixture(scope="module")
def undisturbed(server: ServerProcess) -> tuple[list[float], str]:
    """Return the losses and the end of a session that nothing happens to."""
    session = begin(server.http)
    losses = train(server.http, session, range(ROUNDS))
    return losses, saved(server.http, session)


def test_processes_and_servers_may_be_killed(start_server: StartServer, undisturbed: tuple[list[float], str]) -> None:
    first = start_server()
    session = begin(first.http)

    def kill(number: int) -> None:
        if number % 4 == 1:
            pid = pid_of(first.http, session)
            assert pid is not None
            os.kill(pid, signal.SIGKILL)

    losses = train(first.http, session, range(8), kill)
    first.stop(signal.SIGKILL)
    second = start_server()
    losses += train(second.http, session, range(8, ROUNDS))
    assert (losses, saved(second.http, session)) == undisturbed
    known = reports(second.http.get(f"/v1/sessions/{session}"))
    assert (known["attempt"], known["bit_exact"], known["next_seq"]) == (4, True, 2 * ROUNDS + 2)


@full_counts
def test_two_hundred_steps_with_kills_at_random_come_to_the_same_bits(
    start_server: StartServer, chance: random.Random
) -> None:
    whole = start_server()
    session, rounds = begin(whole.http), range(100)
    expected = train(whole.http, session, rounds), saved(whole.http, session)
    servers = [whole]
    session = begin(whole.http)
    killed = dict.fromkeys(chance.sample(rounds, 12), False) | dict.fromkeys(chance.sample(rounds, 3), True)
    losses = []
    for number in rounds:
        http = servers[-1].http
        pid = pid_of(http, session) if number in killed else None
        if pid is not None:
            # In the midst of the step, or before it, or after it.
            threading.Timer(chance.uniform(0, 0.01), os.kill, (pid, signal.SIGKILL)).start()
        losses += train(http, session, range(number, number + 1))
        if killed.get(number):
            servers[-1].stop(signal.SIGKILL)
            servers.append(start_server())
    assert (losses, saved(servers[-1].http, session)) == expected


@full_counts
def test_sessions_take_turns_with_one_process_and_an_orderly_end_puts_them_aside(
    start_server: StartServer, undisturbed: tuple[list[float], str]
) -> None:
    first = start_server(session_workers=1)
    sessions = [begin(first.http), begin(first.http)]
    losses = [[train(first.http, session, range(n, n + 1))[0] for session in sessions] for n in range(4)]
    assert [pid_of(first.http, session) is None for session in sessions] == [True, False]
    assert first.stop() == 0
    folders = [first.data_dir / "sessions" / session for session in sessions]
    assert all([*folder.glob("snapshot-9.safetensors")] for folder in folders)
    second = start_server(session_workers=1)
    for session, own in zip(sessions, zip(*losses, strict=True), strict=True):
        whole = [*own, *train(second.http, session, range(4, ROUNDS))]
        assert (whole, saved(second.http, session)) == undisturbed


@full_counts
def test_a_backup_takes_sessions_along_and_they_go_on_elsewhere_to_the_same_bits(
    start_server: StartServer, undisturbed: tuple[list[float], str], tmp_path: Path
) -> None:
    first = start_server()
    session, closed = begin(first.http), begin(first.http)
    losses = train(first.http, session, range(5))
    assert first.http.delete(f"/v1/sessions/{closed}").status_code == 204
    (tmp_path / "backup.tar").write_bytes(first.http.get("/v1/backup").content)
    train(first.http, session, range(5, 7))
    first.stop()
    restored(tmp_path / "backup.tar", tmp_path / "elsewhere")
    second = start_server(tmp_path / "elsewhere")
    losses += train(second.http, session, range(5, ROUNDS))
    assert (losses, saved(second.http, session)) == undisturbed
    assert reports(second.http.get(f"/v1/sessions/{closed}"))["state"] == "closed"


@full_counts
def test_an_idle_session_rests_and_a_closed_one_leaves_nothing(start_server: StartServer) -> None:
    server = start_server(session_idle_seconds=0.2)
    session, other = begin(server.http), begin(server.http)
    train(server.http, session, range(1))
    train(server.http, other, range(1))
    pid = pid_of(server.http, session)
    while pid_of(server.http, session) is not None:
        train(server.http, other, range(1))  # the answers are known by now
    assert reports(server.http.get(f"/v1/sessions/{session}"))["process"] is None
    assert reports(server.http.get(f"/v1/sessions/{session}?wake=true"))["next_seq"] == 3
    assert pid_of(server.http, session) not in (None, pid)
    for each in (session, other):
        assert server.http.delete(f"/v1/sessions/{each}").status_code == 204
    assert [*(server.data_dir / "sessions").iterdir()] == []
    assert reports(server.http.get("/v1/system"))["workers"] == []
