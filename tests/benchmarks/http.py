"""What requests, steps of sessions and uploads cost a server, and its memory: `python -m tests.benchmarks.http`.

Everything is measured at one server with the defaults of an installed one. Rates count the time on the clock, and CPU
time is that of the server's process alone, which depends less on what else the machine does. Each kind of request has
its turn in each round; the median of the rounds is shown.
"""

import argparse
import io
import selectors
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from adjoint_client import Client
from adjoint_client.safetensors import encode
from tests.benchmarks.processes import cpu_seconds, fork_server, pss
from tests.benchmarks.raw_http import BLOCK, Connection, content_of
from tests.support.server import COMMAND, ServerProcess, serving

CONNECTIONS = 16
ROUNDS = 5
SECONDS = 1.0
"""Of each kind of request in each round, uploads apart."""

SETTLE_SECONDS = 1.0
"""Between two looks at the memory of a process that may still be loading."""
UPLOAD_BYTES = 200_000_000
UPLOADS = 3
PIECE_BYTES = 1 << 20
GRAPH: dict[str, Any] = {
    "inputs": {"x": ["batch", 4], "y": ["batch"]},
    "parameters": {"w": [4], "b": []},
    "program": "loss = mean((x @ w + b - y) ** 2)",
}
INPUTS: dict[str, Any] = {"x": [[1.0, 2.0, 3.0, 4.0]] * 8, "y": [1.0] * 8}
FIT = {"graph": GRAPH, "dataset": {"columns": INPUTS}, "steps": 100}


@dataclass
class Measured:
    """What was done, in how long on the clock, and the CPU time of the server in that time; seconds."""

    count: float
    elapsed: float
    cpu: float


class Meter:
    """Measures what is done at a server, and keeps the figures of all rounds."""

    def __init__(self, server: psutil.Process) -> None:
        """Count the CPU time of `server`."""
        self._server = server
        self.rounds: defaultdict[str, list[Measured]] = defaultdict(list)

    def measure(self, name: str, act: Callable[[], float]) -> None:
        """Measure a call, which returns how much it has done."""
        began, cpu = time.perf_counter(), cpu_seconds(self._server)
        count = act()
        elapsed = time.perf_counter() - began
        self.rounds[name].append(Measured(count, elapsed, cpu_seconds(self._server) - cpu))

    def rows(self) -> list[tuple[str, float, float]]:
        """Return for each name how much there was in a second, and the CPU time of one in seconds, as medians."""
        return [
            (
                name,
                statistics.median(each.count / each.elapsed for each in rounds),
                statistics.median(each.cpu / each.count for each in rounds),
            )
            for name, rounds in self.rounds.items()
        ]


class Load:
    """Connections each of which sends a request as soon as it has the answer to the one before."""

    def __init__(self, url: str) -> None:
        """Connect to the server."""
        self._connections = [Connection(url) for _ in range(CONNECTIONS)]
        self._selector = selectors.DefaultSelector()
        for each in self._connections:
            self._selector.register(each.socket, selectors.EVENT_READ, bytearray())

    def send(self, path: str, seconds: float) -> int:
        """Send GETs for so long, and return how many were answered, all of them with 200."""
        request = self._connections[0].request("GET", path)
        end, answered, waiting = time.perf_counter() + seconds, 0, CONNECTIONS
        for each in self._connections:
            each.socket.sendall(request)
        while waiting:
            for key, _ in self._selector.select():
                connection: Any = key.fileobj
                key.data.extend(connection.recv(BLOCK))
                if content_of(key.data) is None:
                    continue
                assert key.data.startswith(b"HTTP/1.1 200"), bytes(key.data)
                key.data.clear()
                answered += 1
                if time.perf_counter() < end:
                    connection.sendall(request)
                else:
                    waiting -= 1
        return answered

    def close(self) -> None:
        """Close the connections."""
        self._selector.close()
        for each in self._connections:
            each.close()


def measure_requests(server: ServerProcess, meter: Meter, rounds: int) -> None:
    """Measure polls of all kinds, on connections that are used again."""
    fit_id = server.http.post("/v1/fits", json=FIT).raise_for_status().json()["id"]
    while server.http.get(f"/v1/fits/{fit_id}", params={"wait": 30}).raise_for_status().json()["state"] != "succeeded":
        pass
    paths = {
        "status poll": f"/v1/fits/{fit_id}",
        "metrics poll, new rows": f"/v1/fits/{fit_id}/metrics?after=90",
        "metrics poll, 100 rows": f"/v1/fits/{fit_id}/metrics",
        "/v1/system": "/v1/system",
        "/healthz": "/healthz",
        "/readyz": "/readyz",
    }
    load = Load(server.url)
    try:
        for _ in range(rounds):
            for name, path in paths.items():
                load.send(path, SECONDS / 10)
                meter.measure(name, lambda path=path: load.send(path, SECONDS))
    finally:
        load.close()


def measure_steps(server: ServerProcess, meter: Meter, rounds: int) -> None:
    """Measure steps of a session, each sent when the one before is answered: a pass and an update in turn."""
    connection = Connection(server.url)
    path = f"/v1/sessions/{connection.post('/v1/sessions', graph=GRAPH, optimizer='sgd')['id']}"
    arrays = {name: np.asarray(values, np.float32) for name, values in INPUTS.items()}
    with Client(server.url) as client, client.session(GRAPH, optimizer="sgd") as session:

        def post() -> None:
            connection.post(f"{path}:forward_backward", inputs=INPUTS)
            connection.post(f"{path}:optim_step", lr=0.001)

        def call() -> None:
            session.forward_backward(**arrays)
            session.optim_step(lr=0.001)

        post(), call()
        for _ in range(rounds):
            meter.measure("session step, raw", lambda: 2 * _repeat(post, SECONDS))
            meter.measure("session step, Python client", lambda: 2 * _repeat(call, SECONDS))
    connection.close()


def _repeat(act: Callable[[], None], seconds: float) -> int:
    """Call again and again for so long, and return how often."""
    end, count = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        act()
        count += 1
    return count


def measure_uploads(server: ServerProcess, meter: Meter, repeats: int) -> None:
    """Measure uploads of one array; no two bodies are the same, since equal ones are stored once."""
    array = np.random.default_rng(0).normal(size=(UPLOAD_BYTES // 4 // 1000, 1000)).astype(np.float32)
    encoders: dict[str, Callable[[], bytes]] = {
        "application/x-npz": lambda: _write(np.savez, x=array),
        "application/x-npy": lambda: _write(np.save, array),
        "application/vnd.safetensors": lambda: encode({"x": array}),
    }
    for _ in range(repeats):
        for kind, encoded in encoders.items():
            array[0, 0] += 1
            body = encoded()
            meter.measure(f"upload, {kind}", lambda kind=kind, body=body: _upload(server.http, kind, body))


def _write(save: Callable[..., None], *arrays: Any, **named: Any) -> bytes:
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


def _pieces(body: bytes) -> Iterator[bytes]:
    """Yield a body as a client sends it: what is left of one piece is copied after each write."""
    for start in range(0, len(body), PIECE_BYTES):
        yield body[start : start + PIECE_BYTES]


def _upload(http: httpx.Client, kind: str, body: bytes) -> float:
    headers = {"Content-Type": kind, "Content-Length": str(len(body))}
    made = http.post("/v1/datasets", content=_pieces(body), headers=headers).raise_for_status().json()
    http.delete(f"/v1/datasets/{made['id']}").raise_for_status()
    return len(body) / 1e6


def settle(process: psutil.Process) -> None:
    """Wait until the process that a server forks its workers from has loaded what it holds while it is idle."""
    before, now = 0.0, pss(fork_server(process))
    while now > 1.01 * before:
        time.sleep(SETTLE_SECONDS)
        before, now = now, pss(fork_server(process))


def show_memory(when: str, server: psutil.Process) -> None:
    """Print the memory of a server and of the process that it forks workers from."""
    both = pss(server), pss(fork_server(server))
    print(f"| {when} | {both[0]:.0f} | {both[1]:.0f} | {sum(both):.0f} |", flush=True)


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, serving(Path(folder), command=COMMAND) as server:
        process = psutil.Process(server.process.pid)
        meter = Meter(process)
        print("| memory, MB (PSS) | server | fork server | both |\n|---|---|---|---|")
        server.http.get("/readyz").raise_for_status()
        settle(process)
        show_memory("idle", process)
        measure_requests(server, meter, rounds)
        show_memory("after a fit", process)
        measure_steps(server, meter, rounds)
        measure_uploads(server, meter, min(rounds, UPLOADS))
        show_memory("at the end", process)
        print("\n| | per second | CPU of the server |\n|---|---|---|")
        for name, rate, cpu in meter.rows():
            unit = "MB/s" if name.startswith("upload") else "/s"
            print(f"| {name} | {rate:.0f} {unit} | {cpu * 1e6:.0f} us{' a MB' if unit == 'MB/s' else ''} |")


if __name__ == "__main__":
    main()
