"""Several servers on one PostgreSQL database and one data directory: none of them is special, and any may die."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from app.config.settings import server_version
from tests.support import postgres
from tests.support.gate import VARIABLE, Gate
from tests.support.newer_release import REVISION, VERSION, newer_release
from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.server import ServerProcess, run_command, serving

pytestmark = pytest.mark.skipif(not postgres.AVAILABLE, reason=postgres.MISSING)

SECRET = "the-secret-of-these-servers"
UNIFORM = {"kind": "uniform", "low": -0.1, "high": 0.1}
GRAPH: dict[str, Any] = {
    "inputs": {"x": ["batch", 4]},
    "parameters": {"a": {"shape": [4, 8], "init": UNIFORM}, "b": {"shape": [8], "init": UNIFORM}},
    "program": "loss = mean((tanh(x @ a) @ b - 1.0) ** 2)",
}
FIT: dict[str, Any] = {
    "graph": GRAPH,
    "dataset": {"columns": {"x": [[0.1 * row + 0.01 * place for place in range(4)] for row in range(64)]}},
    "batch_size": 16,
    "steps": 400,
    "checkpoint": {"every_steps": 50},
    "record": {"every_steps": 1},
    "seed": 7,
}
ENDLESS = {**FIT, "steps": 1_000_000}
HELD = 130
STEP_SEED = 5

Start = Callable[..., ServerProcess]


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def settings(database: PostgresServer) -> dict[str, Any]:
    return {"database_url": database.create_database(), "cluster_secret": SECRET}


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """Have fits take 5 ms a step, until they are held or slowed otherwise."""
    made = Gate(tmp_path / "gate")
    with made.slowing(0.005):
        yield made


@pytest.fixture
def start(settings: dict[str, Any], tmp_path: Path, gate: Gate) -> Iterator[Start]:
    """Start servers that share a database and a data directory; their fits heed the gate."""
    with ExitStack() as running:
        yield lambda **own: running.enter_context(
            serving(tmp_path / "data", environment={VARIABLE: str(gate.path)}, **{**settings, **own})
        )


def eventually(what: str, holds: Callable[[], Any]) -> float:
    """Wait, and return for how long."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < PATIENCE, what
        time.sleep(0.1)
    return time.monotonic() - began


def own_id(server: ServerProcess) -> str:
    found: str = server.http.get("/v1/system").json()["server"]
    return found


def leads(server: ServerProcess, of: ServerProcess | None = None) -> bool:
    """Whether a server runs the fits, as it says itself or another one (`of`) does."""
    said = (of or server).http.get("/readyz").json()
    return bool(said["leader"] == own_id(server))


def until_leading(server: ServerProcess) -> ServerProcess:
    eventually("no leader", lambda: leads(server))
    return server


def submitted(server: ServerProcess, request: dict[str, Any] = FIT, **headers: str) -> str:
    while (answer := server.http.post("/v1/fits", json=request, headers=headers)).status_code in (409, 503):
        assert answer.headers["Retry-After"]
        time.sleep(0.05)
    fit_id: str = answer.raise_for_status().json()["id"]
    return fit_id


def fit_at(server: ServerProcess, fit_id: str, **params: Any) -> dict[str, Any]:
    fit: dict[str, Any] = server.http.get(f"/v1/fits/{fit_id}", params=params).raise_for_status().json()
    return fit


def reaches(server: ServerProcess, fit_id: str, number: int) -> None:
    eventually(f"step {number} is not reached", lambda: fit_at(server, fit_id)["step"] >= number)


def ended(server: ServerProcess, fit_id: str) -> dict[str, Any]:
    while not (fit := fit_at(server, fit_id, wait=LONGEST_WAIT))["terminal"]:
        pass
    return fit


def outcome(server: ServerProcess, fit_id: str) -> tuple[str, list[tuple[int, float]], str]:
    """Return the state of a fit when it has ended, its losses with their numbers, and the digest of its checkpoint."""
    state = ended(server, fit_id)["state"]
    rows: list[tuple[int, float]] = []
    while page := server.http.get(
        f"/v1/fits/{fit_id}/metrics", params={"after": rows[-1][0] if rows else 0, "limit": 1000}
    ).json()["data"]:
        rows += [(row["seq"], row["values"]["loss"]) for row in page]
    checkpoints = server.http.get(f"/v1/fits/{fit_id}/checkpoints", params={"order_by": "step"}).json()["data"]
    return state, rows, checkpoints[0]["digest"]


@contextmanager
def events(server: ServerProcess, fit_id: str, last: str | None = None) -> Iterator[Iterator[tuple[str, str]]]:
    """Stream the events of a fit after `last`: their ids and kinds."""
    headers = {} if last is None else {"Last-Event-ID": last}

    def read(answer: httpx.Response) -> Iterator[tuple[str, str]]:
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            if line:
                fields[name] = value
            elif "id" in fields:
                yield fields["id"], fields["event"]
                fields = {}

    with server.http.stream("GET", f"/v1/fits/{fit_id}/events", headers=headers) as answer:
        yield read(answer)


def step(server: ServerProcess, session_id: str, seq: int) -> dict[str, Any]:
    """Send a step, again while its server is gone, and return its answer."""
    body = {"seq": seq, "inputs": {"x": [[0.1 * seq, 1.0, -1.0, STEP_SEED]]}}
    give_up_at = time.monotonic() + PATIENCE
    while True:
        answer = server.http.post(f"/v1/sessions/{session_id}:forward_backward", json=body)
        if answer.status_code != 503 or time.monotonic() > give_up_at:
            return {"status": answer.status_code, **answer.json()}
        assert answer.headers["Retry-After"]
        time.sleep(0.1)


def new_session(server: ServerProcess) -> str:
    session_id: str = server.http.post("/v1/sessions", json={"graph": GRAPH}).raise_for_status().json()["id"]
    return session_id


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(signal.SIGKILL, id="killed", marks=pytest.mark.rare),  # as it is in the demo
        pytest.param(signal.SIGSTOP, id="stopped"),
    ],
)
def test_another_server_takes_over_with_the_same_bits(start: Start, gate: Gate, kind: signal.Signals) -> None:
    first = until_leading(start())
    idle, heir = start(workers=0), start()
    undisturbed = outcome(heir, submitted(first))
    known = new_session(idle)
    expected = [step(first, known, seq) for seq in range(1, 7)]

    with gate.holding(HELD):
        fit_ids = [submitted(server) for server in (idle, heir)]
        session_id = new_session(idle)
        assert step(first, session_id, 1) == expected[0]  # which runs it from now on
        assert [step(server, session_id, seq) for seq, server in ((2, idle), (3, heir))] == expected[1:3]
        with events(idle, fit_ids[0]) as stream:
            seen = [next(stream) for _ in range(120)]
        for fit_id in fit_ids:
            reaches(idle, fit_id, HELD)
        pids = [worker["pid"] for worker in first.http.get("/v1/system").json()["workers"] if worker["fit"]]
        assert pids

        first.process.send_signal(kind)
        seconds = eventually("nobody has taken over", lambda: leads(heir, idle))
        again = eventually("the fits do not go on", lambda: fit_at(idle, fit_ids[0])["attempt"] == 2)
    sys.stdout.write(
        f"take-over after {kind.name}: a new leader in {seconds:.1f} s, the next attempt in {seconds + again:.1f} s\n"
    )
    assert [step(server, session_id, seq) for seq, server in ((3, idle), (4, idle), (5, heir))] == expected[2:5]
    with events(heir, fit_ids[0], last=seen[-1][0]) as stream:
        seen += list(stream)
    assert [int(number) for number, _ in seen] == [*range(1, len(seen) + 1)]
    assert seen[-1][1] == "end"
    for fit_id in fit_ids:
        assert outcome(idle, fit_id) == undisturbed
        assert fit_at(heir, fit_id)["attempt"] == 2
    if kind is signal.SIGSTOP:
        first.process.send_signal(signal.SIGCONT)
        eventually("its processes go on", lambda: not any(map(psutil.pid_exists, pids)))
        eventually("it does not see that it was replaced", lambda: leads(heir, first))
        assert outcome(first, submitted(first)) == undisturbed
        assert step(first, session_id, 6) == expected[5]
    assert heir.tracebacks() + idle.tracebacks() == []


@pytest.mark.rare  # nor does it in the demo
def test_a_crash_of_postgresql_changes_no_leader_and_no_bit(start: Start, database: PostgresServer) -> None:
    first = until_leading(start())
    other = start(workers=0)
    undisturbed = outcome(other, submitted(other))
    fit_id, session_id = submitted(other), new_session(other)
    expected = step(first, session_id, 1)
    eventually("it does not begin", lambda: fit_at(other, fit_id)["step"] > 60)
    database.stop("immediate")
    database.start()
    assert outcome(other, fit_id) == undisturbed
    assert fit_at(other, fit_id)["attempt"] == 1
    assert leads(first, other)
    assert step(other, session_id, 1) == expected
    assert outcome(other, submitted(first)) == undisturbed
    assert first.tracebacks() + other.tracebacks() == []


def test_servers_of_two_releases_serve_and_lead_in_turns(
    start: Start, gate: Gate, settings: dict[str, Any], tmp_path: Path
) -> None:
    older = until_leading(start())
    undisturbed = outcome(older, submitted(older))
    session_id = new_session(older)
    expected = [step(older, session_id, seq) for seq in (1, 2)]
    with gate.holding(HELD) as hold:
        fit_id = submitted(older)
        reaches(older, fit_id, HELD)
        newer = start(command=newer_release(tmp_path / "newer", gate))
        assert versions(older) == versions(newer) == {server_version(), VERSION}
        assert leads(older, newer)
        assert step(newer, session_id, 2) == expected[1]  # which the older one runs
        assert fit_at(newer, fit_id) == fit_at(older, fit_id)
        waiting = submitted(newer)
        older.process.send_signal(signal.SIGSTOP)
        eventually("the newer server does not take over", lambda: leads(newer))
        hold(HELD + 100)
        reaches(newer, fit_id, HELD + 100)
        older.process.send_signal(signal.SIGCONT)
        eventually("the older server does not see that it was replaced", lambda: leads(newer, older))
        with gate.slowing(1.0):  # a fit that is held stops for nobody
            assert newer.stop() == 0
        eventually("the older server does not lead again", lambda: leads(older))
    assert outcome(older, fit_id) == outcome(older, waiting) == undisturbed
    assert fit_at(older, fit_id)["attempt"] == 3
    assert step(older, session_id, 2) == expected[1]
    assert older.tracebacks() + newer.tracebacks() == []
    # One that is started now has to be of the newer release.
    assert older.stop() == 0
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ADJOINT_")}
    own = {f"ADJOINT_{name.upper()}": str(value) for name, value in {**settings, "data_dir": older.data_dir}.items()}
    status, _, errors = run_command(["serve", "--port", "0"], {**inherited, **own})
    assert (status, f"at revision {REVISION}, which is newer" in errors, errors.count("\n")) == (2, True, 1), errors


def versions(server: ServerProcess) -> set[str]:
    """Return the versions of all servers, as one of them has them."""
    return {each["version"] for each in server.http.get("/v1/system").json()["servers"]}


def test_a_server_that_stops_hands_over_at_once(start: Start, gate: Gate) -> None:
    first = until_leading(start())
    heir = start()
    with gate.holding(HELD):
        fit_id = submitted(heir)
        session_id = new_session(heir)
        expected = step(first, session_id, 1)
        reaches(heir, fit_id, HELD)
        with gate.slowing(1.0):  # a fit that is held stops for nobody
            assert first.stop() == 0
    eventually("nobody has taken over", lambda: leads(heir))
    assert step(heir, session_id, 1) == expected
    assert fit_at(heir, fit_id)["state"] != "failed"
    fit = ended(heir, fit_id)
    assert (fit["state"], fit["attempt"]) == ("succeeded", 2)
    assert [server["id"] for server in heir.http.get("/v1/system").json()["servers"]] == [own_id(heir)]


def test_controls_reach_a_fit_from_every_server(start: Start) -> None:
    until_leading(start())
    other = start(workers=0)
    running = submitted(other, ENDLESS)

    def is_in(state: str, fit_id: str) -> Callable[[], bool]:
        return lambda: fit_at(other, fit_id)["state"] == state

    eventually("it does not begin", is_in("running", running))
    other.http.post(f"/v1/fits/{running}:pause").raise_for_status()
    eventually("it is not paused", is_in("paused", running))
    other.http.post(f"/v1/fits/{running}:resume").raise_for_status()
    eventually("it does not go on", is_in("running", running))
    other.http.post(f"/v1/fits/{running}:cancel").raise_for_status()
    eventually("it is not cancelled", is_in("cancelled", running))

    killed = submitted(other, ENDLESS)
    eventually("it does not begin", is_in("running", killed))
    assert other.http.post(f"/v1/fits/{killed}:kill").raise_for_status().json()["state"] == "cancelled"
    sweep = submitted(
        other,
        {
            **ENDLESS,
            "sweep": {"kind": "grid", "parameters": {"optimizer.lr": [0.1, 0.2]}},
            "optimizer": {"kind": "sgd"},
        },
    )
    variants = [each["id"] for each in other.http.get("/v1/fits", params={"parent": sweep}).json()["data"]]
    eventually("it does not begin", lambda: any(fit_at(other, each)["state"] == "running" for each in variants))
    for each in variants:
        other.http.post(f"/v1/fits/{each}:cancel").raise_for_status()
    assert ended(other, sweep)["state"] == "cancelled"


def test_a_key_sent_to_two_servers_at_once_makes_one_fit(start: Start) -> None:
    servers, request = [until_leading(start()), start(workers=0)], {**FIT, "steps": 1}
    with ThreadPoolExecutor(8) as pool:
        for number in range(10):
            key = {"Idempotency-Key": f"key-{number}"}
            made = [pool.submit(submitted, servers[place % 2], request, **key) for place in range(8)]
            assert len({each.result() for each in made}) == 1
    assert len(servers[1].http.get("/v1/fits").json()["data"]) == 10


def test_keys_count_on_every_server(start: Start) -> None:
    first, other = start(api_key="a-key-of-the-operator"), start(api_key="a-key-of-the-operator")
    operator = {"Authorization": "Bearer a-key-of-the-operator"}
    request = {"name": "a", "scopes": ["train"]}
    made = first.http.post("/v1/keys", json=request, headers=operator).raise_for_status().json()
    header = {"Authorization": f"Bearer {made['key']}"}

    def status(headers: dict[str, str]) -> int:
        return other.http.get("/v1/fits", headers=headers).status_code

    eventually("the other server does not know the key", lambda: status(header) == 200)
    first.http.delete(f"/v1/keys/{made['id']}", headers=operator).raise_for_status()
    eventually("the other server still knows the key", lambda: status(header) == 401)
    for secret in ("a guess", SECRET[:-1]):
        answer = other.http.get("/v1/fits", headers={"Adjoint-Cluster-Secret": secret})
        assert (answer.status_code, answer.json()["code"]) == (403, "not_a_server")


@pytest.mark.parametrize(
    ("own", "named"),
    [
        ({"max_rows": 5}, "ADJOINT_MAX_ROWS is 5 here and 1000000000 there"),
        ({"cluster_secret": "another-secret-of-theirs"}, "ADJOINT_CLUSTER_SECRET differs"),
        ({"api_key": "a-key-of-the-operator"}, "ADJOINT_API_KEY differs"),
        ({"data_dir": "elsewhere"}, "ADJOINT_DATA_DIR"),
        ({"cluster_secret": None, "data_dir": "elsewhere"}, "servers that are to share a database need one"),
        ({"cluster_secret": None}, "another server is using the data directory"),
    ],
    ids=["limit", "secret", "key", "files", "alone", "alone in the directory"],
)
def test_a_server_with_other_settings_is_refused(
    start: Start, settings: dict[str, Any], tmp_path: Path, own: dict[str, Any], named: str
) -> None:
    start()
    chosen = {**settings, "port": 0, "data_dir": "data", **own}
    chosen["data_dir"] = tmp_path / chosen["data_dir"]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ADJOINT_")}
    said = {f"ADJOINT_{name.upper()}": str(value) for name, value in chosen.items() if value is not None}
    status, output, errors = run_command(["serve"], {**inherited, **said})
    assert (status, output) == (2, "")
    assert named in errors
    assert "Traceback" not in errors
    assert len(errors.splitlines()) == 1
    for secret in (SECRET, "another-secret-of-theirs", "a-key-of-the-operator"):
        assert secret not in errors


def test_servers_start_together_on_an_empty_database(start: Start) -> None:
    with ThreadPoolExecutor(3) as pool:
        servers = [each.result() for each in [pool.submit(start) for _ in range(3)]]
    eventually("no leader", lambda: sum(map(leads, servers)) == 1)
    assert ended(servers[0], submitted(servers[1]))["state"] == "succeeded"
    assert len(json.loads(servers[2].http.get("/v1/system").content)["servers"]) == 3
