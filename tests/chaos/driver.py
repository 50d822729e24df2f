"""A client that trusts nobody: it posts with keys, notes what was acknowledged, and remembers every row it has read."""

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
from tests.extent import FULL
from tests.support.gate import VARIABLE, Gate
from tests.support.patience import PATIENCE
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
    """A client and the server it works against, over one data directory through all starts of it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        """Keep the client's notes in `folder`, and the server's data in a folder below."""
        self.data_dir = folder / "data"
        self.journal = Journal(folder / "acknowledged.jsonl")
        self.read: dict[str, list[dict[str, Any]]] = {}
        self.wanted: dict[str, Request] = {}
        self.starts = 0
        self.gate = Gate(folder / "gate")
        environment = {VARIABLE: str(self.gate.path)}
        at_once = {} if FULL else {"retry_seconds": 0.1}  # fits that lost a process need not wait as long
        defaults = {"workers": 3, "metrics_flush_seconds": 0.05, "environment": environment}
        self._settings = {**defaults, **at_once, **settings}
        self._running = ExitStack()
        self._server: ServerProcess | None = None

    @property
    def server(self) -> ServerProcess:
        """The server that was started last."""
        assert self._server is not None, "no server was started"
        return self._server

    @property
    def http(self) -> httpx.Client:
        """A client of the server that was started last."""
        return self.server.http

    @property
    def pid(self) -> int:
        """The pid of the server that was started last."""
        return self.server.process.pid

    def start(self, **settings: Any) -> float:
        """Start the server, and return how long it took to be ready; ServerGone if it died on the way."""
        self.close()
        began = time.monotonic()
        try:
            self._server = self._running.enter_context(serving(self.data_dir, **{**self._settings, **settings}))
        except RuntimeError as error:
            raise ServerGone(str(error)) from error
        finally:
            self.starts += 1
        return time.monotonic() - began

    def stop(self) -> None:
        """Have the server drain and end, as it should, and all its processes with it."""
        with processes.all_end(processes.family(self.pid)):
            assert self.server.stop() == 0, self.server.log
        self.close()

    def close(self) -> None:
        """Have done with the server, whatever is left of it."""
        self._running.close()

    def kill_server(self) -> None:
        """Kill the server alone; its workers must end by themselves, soon."""
        with processes.all_end(processes.family(self.pid)):
            processes.kill([self.pid])
        self.close()

    def kill_everything(self, chance: random.Random) -> None:
        """Kill the server and all its processes, in any order."""
        pids = processes.family(self.pid)
        with processes.all_end(pids):
            processes.kill(chance.sample(pids, len(pids)))
        self.close()

    def workers(self) -> list[int]:
        """Return the pids of the processes that fit."""
        return processes.workers(self.pid)

    def worker_of(self, fit_id: str) -> int:
        """Wait until a process works on the fit, and return its pid."""

        def pids() -> list[int]:
            listed = self.asked("/v1/system")["workers"]
            return [worker["pid"] for worker in listed if worker["fit"] == fit_id]

        self.until(lambda: bool(pids()), f"no process works on {fit_id}")
        return pids()[0]

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
        try:
            response = self.http.request(method, path, **arguments)
        except httpx.TransportError as error:
            if self._died():
                raise ServerGone(str(error)) from error
            raise
        assert response.status_code < 500, response.text
        return response

    def _died(self) -> bool:
        """Tell whether the server is gone; the connection may be the first to know."""
        end = time.monotonic() + 1.0
        while self.server.process.poll() is None and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
        return self.server.process.poll() is not None

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
            events=[*read_events(self.answered("GET", f"/v1/fits/{fit_id}/events", params={"timeout": 1}).text)],
            checkpoints=checkpoints,
            contents={each["id"]: self.answered("GET", each["links"]["content"]).content for each in checkpoints},
        )


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
