"""Incident S8: a server that is made to ask others. Every process of this one is watched: none connects, none looks a
name up, and none listens beyond loopback, whatever it is sent.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.security.listeners import family
from tests.support.patience import LONGEST_WAIT
from tests.support.server import LAUNCH, ServerProcess, serving

WATCHED = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.bind")
HOOK = f"""
import os, sys
_seen = os.open(os.environ["SEEN"], os.O_WRONLY | os.O_APPEND)
def _report(*event):
    os.write(_seen, f"{{os.getpid()}} {{event!r}}\\n".encode())
def _watch(event, details):
    if event in {WATCHED} and not isinstance(details[-1], (str, bytes)):
        _report(event, [each for each in details if isinstance(each, (str, bytes, tuple))])
sys.addaudithook(_watch)
_report("started")
os.register_at_fork(after_in_child=lambda: _report("started"))
"""
"""Runs at the start of every interpreter, as sitecustomize. Addresses of sockets within the machine are texts."""
FOR_ALL = """
import os
from app.ingest import ingest
from app.runner import fork_server
for environment in (ingest._ENVIRONMENT, fork_server._ENVIRONMENT):
    environment.update(SEEN=os.environ["SEEN"], PYTHONPATH=os.environ["PYTHONPATH"])
"""
"""Has the processes that read uploads and those that train watched as well."""
GRAPH = {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"}
ADDRESS = "http://evil.example/x"
BRIEF = {"executor": "numpy"}


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    path = tmp_path / "seen"
    path.touch()
    return path


@pytest.fixture
def watched(tmp_path: Path, seen: Path) -> Iterator[ServerProcess]:
    """Start a server all of whose processes write down whom they speak to."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(HOOK)
    paths = [str(tmp_path / "hook"), str(Path(__file__).parents[2])]
    environment = {"PYTHONPATH": ":".join(paths), "SEEN": str(seen)}
    command = (sys.executable, "-c", FOR_ALL + LAUNCH)
    with serving(tmp_path / "data", command=command, environment=environment) as server:
        yield server


def events(seen: Path) -> Mapping[int, list[tuple[object, ...]]]:
    """Return what each process has done, by its id."""
    reported = defaultdict(list)
    for line in seen.read_text().splitlines():
        pid, _, event = line.partition(" ")
        reported[int(pid)].append(ast.literal_eval(event))
    return reported


def test_no_process_of_the_server_connects_to_anybody(watched: ServerProcess, seen: Path) -> None:
    http = watched.http
    graph = http.post("/v1/graphs", json=GRAPH).json()["id"]
    uploaded = http.post("/v1/datasets", content=b"x\n1\n2\n", headers={"Content-Type": "text/csv"})
    request = {"graph": graph, "dataset": uploaded.json()["id"], "steps": 3, "resources": BRIEF}
    fit = http.post("/v1/fits", json=request).json()["id"]
    assert http.get(f"/v1/fits/{fit}", params={"wait": LONGEST_WAIT}).json()["state"] == "succeeded"
    session = http.post("/v1/sessions", json={"graph": graph, "resources": BRIEF}).json()["id"]
    assert http.post(f"/v1/sessions/{session}:forward", json={"inputs": {"x": [1.0]}}).status_code == 200
    working = {worker["pid"] for worker in http.get("/v1/system").json()["workers"]}
    for path, body in (
        ("/v1/datasets", {"name": ADDRESS, "columns": {"x": ADDRESS}}),
        ("/v1/fits", {"graph": ADDRESS}),
    ):
        assert 400 <= http.post(path, json=body).status_code < 500
    for named in ("X-Forwarded-Host", "Referer", "Forwarded", "Link"):
        assert http.get("/v1/graphs", headers={named: ADDRESS}).status_code == 200

    reported = events(seen)
    assert {*reported} >= {watched.process.pid, *working}
    assert len(reported) > len(family(watched.process.pid))  # those that have ended: of the fit, and of the upload
    done = [event for each in reported.values() for event in each if event != ("started",)]
    assert done == [("socket.getaddrinfo", ["127.0.0.1"]), ("socket.bind", [("127.0.0.1", 0)])]
