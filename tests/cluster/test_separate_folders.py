"""Servers without a common folder: a session goes on at another one when the machine of its server is lost."""

import hashlib
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]  # it has no types
import psycopg
import pytest

from app.store.objects.keys import object_key
from tests.support import postgres
from tests.support.patience import PATIENCE
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.server import ServerProcess, serving

pytest.importorskip("obstore", reason="the extra 'objects' is missing")
pytestmark = pytest.mark.skipif(not postgres.AVAILABLE, reason=postgres.MISSING)

UNIFORM = {"kind": "uniform", "low": -0.1, "high": 0.1}
UNITS = 70_000
"""Enough that a snapshot is larger than what the database takes."""

GRAPH: dict[str, Any] = {
    "inputs": {"x": ["batch", 4]},
    "parameters": {"a": {"shape": [4, UNITS], "init": UNIFORM}, "b": {"shape": [UNITS], "init": UNIFORM}},
    "program": "loss = mean((tanh(x @ a) @ b - 1.0) ** 2)",
}
SAFETENSORS = {"Accept": "application/vnd.safetensors"}
LAST = 7

Start = Callable[..., ServerProcess]


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def settings(database: PostgresServer, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "objects").mkdir()
    return {
        "database_url": database.create_database(),
        "cluster_secret": "the-secret-of-these-servers",
        "blob_url": f"file://{tmp_path}/objects",
        "workers": 1,
    }


@pytest.fixture
def start(settings: dict[str, Any], tmp_path: Path) -> Iterator[Start]:
    """Start servers, each with a data directory of its name."""
    with ExitStack() as running:
        yield lambda name, **own: running.enter_context(serving(tmp_path / name, **{**settings, **own}))


def new_session(http: httpx.Client, **fields: Any) -> str:
    made = http.post("/v1/sessions", json={"graph": GRAPH, "optimizer": "adam", "seed": 3, **fields})
    session_id: str = made.raise_for_status().json()["id"]
    return session_id


def send(http: httpx.Client, session_id: str, verb: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send a step, again while its server is gone, and return its answer."""
    give_up_at = time.monotonic() + PATIENCE
    while True:
        answer = http.post(f"/v1/sessions/{session_id}:{verb}", json=body)
        if answer.status_code != 503 or time.monotonic() > give_up_at:
            return {"status": answer.status_code, **answer.json()}
        assert answer.headers["Retry-After"]
        time.sleep(0.1)


def step(http: httpx.Client, session_id: str, seq: int) -> dict[str, Any]:
    """Accumulate gradients, or at every second number take a step of the optimizer."""
    if seq % 2 == 0:
        return send(http, session_id, "optim_step", {"seq": seq})
    return send(http, session_id, "forward_backward", {"seq": seq, "inputs": {"x": [[0.1 * seq, 1.0, -1.0, 0.5]]}})


def steps(http: httpx.Client, session_id: str, first: int, last: int) -> list[dict[str, Any]]:
    return [step(http, session_id, seq) for seq in range(first, last + 1)]


def state(http: httpx.Client, session_id: str) -> list[bytes]:
    """Return the parameters, and the gradients that were accumulated."""
    answers = [http.get(f"/v1/sessions/{session_id}/{n}", headers=SAFETENSORS) for n in ("parameters", "gradients")]
    return [answer.raise_for_status().content for answer in answers]


def lose(server: ServerProcess) -> None:
    """Kill a server with its processes, and delete its folder."""
    processes = psutil.Process(server.process.pid).children(recursive=True)
    server.process.send_signal(signal.SIGKILL)
    for process in processes:
        process.kill()
    server.process.wait(PATIENCE)
    shutil.rmtree(server.data_dir)


def halt(server: ServerProcess) -> None:
    """Stop all threads of a server's process: until the kernel has told the last one, it may still commit."""
    server.process.send_signal(signal.SIGSTOP)
    give_up_at = time.monotonic() + PATIENCE
    tasks = Path(f"/proc/{server.process.pid}/task")
    while not all(map(is_halted, tasks.iterdir())):
        assert time.monotonic() < give_up_at
        time.sleep(0.001)


def is_halted(thread: Path) -> bool:
    """Return whether a thread, a folder below /proc, is stopped, or has ended."""
    try:
        state = thread.joinpath("stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "T"


@contextmanager
def storing_waits(url: str, session_id: str) -> Iterator[Callable[[], None]]:
    """Let no step of a session be stored within the block; yields what waits until one is being stored."""
    with psycopg.connect(url.replace("+psycopg", "")) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM sessions WHERE id = %s FOR UPDATE", (session_id,))

        def wait() -> None:
            give_up_at = time.monotonic() + PATIENCE
            waiting = (
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            )
            while (found := cursor.execute(waiting).fetchone()) is None or not found[0]:
                assert time.monotonic() < give_up_at
                time.sleep(0.01)

        yield wait


def test_a_session_survives_the_machine_of_its_server(start: Start, settings: dict[str, Any]) -> None:
    first, heir = start("first"), start("heir")
    known = new_session(first.http)
    expected, whole = steps(first.http, known, 1, LAST), state(first.http, known)
    saved = send(first.http, known, "save", {"seq": LAST + 1})

    session_id = new_session(heir.http)
    assert steps(first.http, session_id, 1, 2) == expected[:2]  # which runs it from now on
    first.http.post(f"/v1/sessions/{session_id}:pause").raise_for_status()  # writes a snapshot
    first.http.post(f"/v1/sessions/{session_id}:resume").raise_for_status()
    assert steps(heir.http, session_id, 3, 4) == expected[2:4]
    # Executed, and not stored when the machine is lost: no client has got the answer.
    with ThreadPoolExecutor(1) as pool, storing_waits(settings["database_url"], session_id) as wait:
        lost = pool.submit(first.http.post, f"/v1/sessions/{session_id}:forward_backward", json={
            "seq": 5, "inputs": {"x": [[0.5, 1.0, -1.0, 0.5]]},
        })  # fmt: skip
        wait()
        lose(first)
        with pytest.raises(httpx.HTTPError):
            lost.result(PATIENCE)
    assert steps(heir.http, session_id, 3, LAST) == expected[2:]
    assert state(heir.http, session_id) == whole
    assert send(heir.http, session_id, "save", {"seq": LAST + 1})["digest"] == saved["digest"]
    heir.http.delete(f"/v1/sessions/{session_id}").raise_for_status()
    assert heir.tracebacks() == []


def test_a_server_that_hangs_is_refused_when_it_wakes(start: Start, settings: dict[str, Any]) -> None:
    first, heir = start("first", session_idle_seconds=2), start("heir")
    known = new_session(heir.http)
    expected, whole = steps(heir.http, known, 1, LAST), state(heir.http, known)

    session_id = new_session(first.http)
    assert steps(first.http, session_id, 1, 2) == expected[:2]
    with ThreadPoolExecutor(1) as pool:
        # It stops while it stores a step: its transaction goes on to hold what it has locked by then.
        with storing_waits(settings["database_url"], session_id) as wait:
            body = {"seq": 3, "inputs": {"x": [[0.9, 0.9, 0.9, 0.9]]}}
            refused = pool.submit(first.http.post, f"/v1/sessions/{session_id}:forward_backward", json=body)
            wait()
            halt(first)
        assert steps(heir.http, session_id, 3, 5) == expected[2:5]
        first.process.send_signal(signal.SIGCONT)
        assert refused.result(PATIENCE).status_code == 503
    assert steps(first.http, session_id, 5, LAST) == expected[4:]  # passed on
    assert state(first.http, session_id) == whole
    give_up_at = time.monotonic() + PATIENCE
    while [*(first.data_dir / "servers" / "0" / "sessions").glob("*/*")]:
        assert time.monotonic() < give_up_at, "its copy of the session stays"
        time.sleep(0.1)
    assert [first.stop(), heir.stop()] == [0, 0]
    assert first.tracebacks() + heir.tracebacks() == []


@pytest.mark.rare
def test_a_session_survives_machines_that_are_lost_at_any_moment(start: Start) -> None:
    rounds, per_round, moments = 10, 20, random.Random(5)
    last = rounds * per_round
    owner = start("server 0")
    known = new_session(owner.http)
    expected, whole = steps(owner.http, known, 1, last), state(owner.http, known)
    session_id = new_session(owner.http)
    assert step(owner.http, session_id, 1) == expected[0]
    for number in range(rounds):
        heir = start(f"server {number + 1}")
        first, end = number * per_round, (number + 1) * per_round
        with ThreadPoolExecutor(1) as pool:
            client = pool.submit(steps, heir.http, session_id, first + 1, end)
            time.sleep(moments.uniform(0.0, 1.0))  # whatever it does then
            lose(owner)
            assert client.result(2 * PATIENCE) == expected[first:end]
        assert heir.tracebacks() == []
        owner = heir
    assert state(owner.http, session_id) == whole


def test_the_leader_finds_what_a_killed_server_has_stored_in_vain(
    start: Start, settings: dict[str, Any], tmp_path: Path
) -> None:
    server = start("leader", housekeeping_seconds=0.05, quarantine_days=0)
    left = hashlib.sha256(b"left").hexdigest()
    path = tmp_path / "objects" / object_key(left)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"left")
    rows = {"name": "rows", "columns": {"x": [[1.0]], "y": [0.0]}}
    dataset = server.http.post("/v1/datasets", json=rows).raise_for_status().json()["id"]
    noted: list[str] = []
    give_up_at = time.monotonic() + PATIENCE
    with psycopg.connect(settings["database_url"].replace("+psycopg", ""), autocommit=True) as connection:
        while left not in noted:
            assert time.monotonic() < give_up_at, "an unknown object stays for ever"
            noted = [digest for (digest,) in connection.execute("SELECT digest FROM discarded_blobs")]
    # It is deleted some time later, unless a server stores it until then.
    assert path.exists()
    assert server.http.get(f"/v1/datasets/{dataset}/content").status_code == 200
