"""A client that trusts nobody: it posts with keys, notes what was acknowledged, and remembers every row it has read."""

import itertools
import json
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.chaos import processes
from tests.chaos.places import HAS_RAY, make_place
from tests.extent import FULL
from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.server import ServerProcess, serving

POLL_SECONDS = 0.05
BOUND_SECONDS = 120.0
"""After so long without faults every fit has ended; fits take seconds, and the machine may be busy."""
PAGE = 10_000

Request = Mapping[str, Any]


class ServerGone(Exception):
    """The server died; start it again."""


@dataclass(frozen=True)
class Event:
    """An event of a fit's journal."""

    seq: int
    kind: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Observed:
    """Everything that a server reports of a fit, and the files of its checkpoints."""

    fit: dict[str, Any]
    rows: list[dict[str, Any]]
    events: list[Event]
    checkpoints: list[dict[str, Any]]
    contents: dict[str, bytes]

    @property
    def final(self) -> dict[str, Any]:
        """The furthest checkpoint."""
        return max(self.checkpoints, key=lambda checkpoint: int(checkpoint["step"]))

    @property
    def outcomes(self) -> list[str | None]:
        """How its attempts ended."""
        return [attempt["outcome"] for attempt in self.fit["attempts"]]


class Journal:
    """What was acknowledged, in a file of the client's that no server touches."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, key: str, fit_id: str) -> None:
        """Note that the server said yes to the request with this key; on the disk when this returns."""
        with self._path.open("a") as file:
            file.write(json.dumps({"key": key, "fit": fit_id}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def acknowledged(self) -> list[tuple[str, str]]:
        """Return the keys and fits in the order of the answers, repeated ones too."""
        if not self._path.exists():
            return []
        entries = [json.loads(line) for line in self._path.read_text().splitlines()]
        return [(entry["key"], entry["fit"]) for entry in entries]


class Driver:
    """A client and the servers it works against, over one place through all starts of them: one, or two of a cluster.

    Each request goes to the next server that runs.
    """

    def __init__(self, folder: Path, **settings: Any) -> None:
        """Keep the client's notes in `folder`, and the server's data in a folder below."""
        self.place = make_place(folder)
        self.journal = Journal(folder / "acknowledged.jsonl")
        self.read: dict[str, list[dict[str, Any]]] = {}
        self.wanted: dict[str, Request] = {}
        self.starts = 0
        self.gate = self.place.gate
        at_once = {} if FULL else {"retry_seconds": 0.1}  # fits that lost a process need not wait as long
        defaults = {"workers": 3, "metrics_flush_seconds": 0.05, "environment": self.place.environment}
        self._settings = {**defaults, **at_once, **settings, **self.place.settings}
        self._running: dict[Path, tuple[ServerProcess, ExitStack]] = {}
        self._turns = itertools.count()

    @property
    def data_dir(self) -> Path:
        """The data directory of the first server."""
        return self.place.data_dirs[0]

    @property
    def servers(self) -> list[ServerProcess]:
        """The servers that were started and have not ended since, as far as is known."""
        return [server for server, _ in self._running.values()]

    @property
    def server(self) -> ServerProcess:
        """The server that runs the fits."""
        assert self._running, "no server was started"
        if len(self._running) == 1:
            return self.servers[0]
        return self._leader()

    def _leader(self) -> ServerProcess:
        """Wait until a server that runs leads, and return it."""
        found: list[ServerProcess] = []

        def is_found() -> bool:
            found[:] = [server for server in self.servers if _leads(server)]
            return bool(found)

        self.until(is_found, "no server leads")
        return found[0]

    @property
    def http(self) -> httpx.Client:
        """A client of the server whose turn it is."""
        return self._next().http

    def _next(self) -> ServerProcess:
        return self.servers[next(self._turns) % len(self._running)]

    @property
    def pid(self) -> int:
        """The pid of the server that runs the fits."""
        return self.server.process.pid

    def start(self, **settings: Any) -> float:
        """Start all servers that do not run, and return how long it took until they were ready.

        ServerGone if one died on the way.
        """
        self._forget_ended()
        began = time.monotonic()
        try:
            for data_dir in self.place.data_dirs:
                if data_dir not in self._running:
                    self._start(data_dir, settings)
        except RuntimeError as error:
            raise ServerGone(str(error)) from error
        finally:
            self.starts += 1
        return time.monotonic() - began

    def start_one(self) -> None:
        """Start the first server alone."""
        self._start(self.data_dir, {})

    def _start(self, data_dir: Path, settings: dict[str, Any]) -> None:
        stack = ExitStack()
        started = stack.enter_context(serving(data_dir, **{**self._settings, **settings}))
        self._running[data_dir] = started, stack

    def _forget_ended(self) -> None:
        for data_dir, (server, stack) in [*self._running.items()]:
            if server.process.poll() is not None:
                del self._running[data_dir]
                stack.close()

    def stop(self) -> None:
        """Have the servers drain and end, as they should, and all their processes with them."""
        with processes.all_end(self._family()):
            for server in self.servers:
                assert server.stop() == 0, server.log
        self.close()

    def close(self) -> None:
        """Have done with the servers, whatever is left of them."""
        for _, stack in self._running.values():
            stack.close()
        self._running.clear()

    def kill_server(self, server: ServerProcess | None = None) -> None:
        """Kill a server, by default the one that runs the fits; its workers must end by themselves, soon."""
        process = (server or self.server).process
        with processes.all_end(processes.family(process.pid)):
            processes.kill([process.pid])
        process.wait(PATIENCE)  # its exit status comes a little later
        self._forget_ended()

    def kill_everything(self, chance: random.Random) -> None:
        """Kill all servers and their processes, in any order."""
        pids = self._family()
        with processes.all_end(pids):
            processes.kill(chance.sample(pids, len(pids)))
        self.close()

    def _family(self) -> list[int]:
        """Return the pids of all servers, and of their processes."""
        return [pid for server in self.servers for pid in processes.family(server.process.pid)]

    def workers(self) -> list[int]:
        """Return the pids of the processes that fit."""
        if HAS_RAY:
            return [pid for pid, _ in self._listed()]
        return [pid for server in self.servers for pid in processes.workers(server.process.pid)]

    def worker_of(self, fit_id: str) -> int:
        """Wait until a process works on the fit, and return its pid."""
        found: list[int] = []

        def is_found() -> bool:
            found[:] = [pid for pid, fit in self._listed() if fit == fit_id]
            return bool(found)

        self.until(is_found, f"no process works on {fit_id}")
        return found[0]

    def _listed(self) -> list[tuple[int, str]]:
        """Return the pids of the processes that the servers list, and their fits."""
        listed = [server.http.get("/v1/system").json()["workers"] for server in self.servers]
        return [(worker["pid"], worker["fit"]) for workers in listed for worker in workers if worker["fit"]]

    def submit(self, key: str, request: Request) -> str:
        """Post a fit until it is acknowledged, and return its id; ServerGone if the server dies on the way."""
        self.wanted[key] = request
        return self.post(key)

    def post(self, key: str) -> str:
        """Post the request that belongs to `key`, the first time or once more."""
        response = self.answered("POST", "/v1/fits", json=self.wanted[key], headers={"Idempotency-Key": key})
        assert response.status_code == 202, response.text
        fit_id: str = response.json()["id"]
        self.journal.note(key, fit_id)
        return fit_id

    def post_missing(self) -> None:
        """Post whatever was wanted and not acknowledged."""
        known = {key for key, _ in self.journal.acknowledged()}
        for key in self.wanted.keys() - known:
            self.post(key)

    def act(self, fit_id: str, verb: str) -> httpx.Response:
        """Ask something of a fit: `cancel`, `kill`, `pause` or `resume`."""
        return self.answered("POST", f"/v1/fits/{fit_id}:{verb}")

    def answered(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Return the server's answer, which is never a 5xx; ServerGone if it died."""
        server = self._next()
        try:
            response = server.http.request(method, path, **arguments)
        except httpx.TransportError as error:
            if _died(server):
                raise ServerGone(str(error)) from error
            raise
        assert response.status_code < 500, response.text
        return response

    def asked(self, path: str, **params: Any) -> Any:
        """Return what a GET is answered with."""
        response = self.answered("GET", path, params=params)
        assert response.status_code == 200, response.text
        return response.json()

    def fit(self, fit_id: str, **params: Any) -> dict[str, Any]:
        """Return the fit."""
        found: dict[str, Any] = self.asked(f"/v1/fits/{fit_id}", **params)
        return found

    def read_on(self, fit_id: str) -> int:
        """Read the rows that are new, remember them, and return how many there are in all."""
        rows = self.read.setdefault(fit_id, [])
        page = self.asked(f"/v1/fits/{fit_id}/metrics", after=len(rows), limit=PAGE)
        rows += page["data"]
        return len(rows)

    def until(self, condition: Callable[[], bool], complaint: str, seconds: float = PATIENCE) -> None:
        """Wait until `condition` holds."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, complaint
            time.sleep(POLL_SECONDS)

    def until_rows(self, fit_id: str, count: int, seconds: float = PATIENCE) -> bool:
        """Wait until the fit has so many rows; False if it ended before."""
        found = {"ended": False}

        def there() -> bool:
            found["ended"] = self.read_on(fit_id) < count and self.fit(fit_id)["terminal"]
            return found["ended"] or len(self.read[fit_id]) >= count

        self.until(there, f"{fit_id} has no row {count} after {seconds} s", seconds)
        return not found["ended"]

    def until_state(self, fit_id: str, *states: str, seconds: float = PATIENCE) -> dict[str, Any]:
        """Wait until the fit is in one of `states`, and return it."""
        self.until(
            lambda: self.fit(fit_id)["state"] in states, f"{fit_id} is not {' or '.join(states)}: no end", seconds
        )
        return self.fit(fit_id)

    def until_terminal(self, seconds: float = BOUND_SECONDS) -> None:
        """Read on until every acknowledged fit has ended."""
        end = time.monotonic() + seconds
        for fit_id in dict(self.journal.acknowledged()).values():
            while not self.fit(fit_id, wait=0.2)["terminal"]:
                self.read_on(fit_id)
                assert time.monotonic() < end, f"fit {fit_id} has not ended: {self.fit(fit_id)}"
            self.read_on(fit_id)

    def undisturbed(self, keys: Iterable[str]) -> dict[str, Observed]:
        """Fit what has these keys once more, with nothing in the way; return what it comes to, by the same keys."""
        twins: dict[str, str] = {}
        for key in keys:
            request = self.wanted[key]
            alike = (twins[other] for other in twins if self.wanted[other] == request)
            twins[key] = next(alike, "") or self.submit(f"undisturbed-{key}", request)
        self.until_terminal()
        observed = {fit_id: self.observe(fit_id) for fit_id in set(twins.values())}
        return {key: observed[fit_id] for key, fit_id in twins.items()}

    def observe(self, fit_id: str) -> Observed:
        """Return everything that the server reports of a fit that has ended."""
        checkpoints = self.asked(f"/v1/fits/{fit_id}/checkpoints", limit=1000)["data"]
        return Observed(
            fit=self.fit(fit_id),
            rows=self.asked(f"/v1/fits/{fit_id}/metrics", limit=PAGE)["data"],
            events=[
                *read_events(self.answered("GET", f"/v1/fits/{fit_id}/events", params={"timeout": LONGEST_WAIT}).text)
            ],
            checkpoints=checkpoints,
            contents={each["id"]: self.answered("GET", each["links"]["content"]).content for each in checkpoints},
        )


def _died(server: ServerProcess) -> bool:
    """Tell whether a server is gone; the connection may be the first to know."""
    end = time.monotonic() + 1.0
    while server.process.poll() is None and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
    return server.process.poll() is not None


def _leads(server: ServerProcess) -> bool:
    """Tell whether a server runs the fits, as it says itself."""
    leader, own = server.http.get("/readyz").json().get("leader"), server.http.get("/v1/system").json()["server"]
    return bool(leader == own)


def read_events(text: str) -> Iterator[Event]:
    """Read a stream of events as a browser would."""
    entry: dict[str, str] = {}
    for line in text.splitlines():
        if not line:
            if "data" in entry:
                yield Event(int(entry["id"]), entry["event"], json.loads(entry["data"]))
            entry = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            entry[name] = value
