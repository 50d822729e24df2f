"""Clients that poll once a second beside two busy workers: `python -m tests.benchmarks.pollers`.

Two fits train all the time; with and without the polls take turns. Latency is from when a poll is due to when its
answer is there; all clients are one process, which uses the processors too. Medians of the rounds.
"""

import argparse
import heapq
import resource
import selectors
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from adjoint_client import Client
from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.raw_http import BLOCK, Connection, content_of
from tests.benchmarks.starts import definition
from tests.benchmarks.workloads import WORKLOADS
from tests.support.server import COMMAND, ServerProcess, serving

CLIENTS, ROUNDS, SECONDS = 1000, 3, 10.0
FITS = 2
DESCRIPTORS = 4096
SETTLE_SECONDS = 10.0
"""After which both fits train, and the server has loaded what later ones need."""


class Pollers:
    """Connections that each send a poll once a second, of the state or the metrics of one of the fits."""

    def __init__(self, url: str, fits: list[str], clients: int) -> None:
        """Connect to the server."""
        self._selector = selectors.DefaultSelector()
        self._connections = [Connection(url) for _ in range(clients)]
        kinds = [path for fit in fits for path in (f"/v1/fits/{fit}", f"/v1/fits/{fit}/metrics?limit=10")]
        self._requests = [each.request("GET", kinds[i % len(kinds)]) for i, each in enumerate(self._connections)]
        for number, each in enumerate(self._connections):
            self._selector.register(each.socket, selectors.EVENT_READ, (number, bytearray()))

    def poll(self, seconds: float) -> list[float]:
        """Poll for so long; return the latency of each poll in seconds."""
        begun, clients = time.perf_counter(), len(self._connections)
        due = [(begun + number / clients, number) for number in range(clients)]
        asked: dict[int, float] = {}
        latencies: list[float] = []
        while due or asked:
            while due and due[0][0] <= time.perf_counter():
                at, number = heapq.heappop(due)
                asked[number] = at
                self._connections[number].socket.sendall(self._requests[number])
            for number in self._answered(max(due[0][0] - time.perf_counter(), 0.0) if due else None):
                at, now = asked.pop(number), time.perf_counter()
                latencies.append(now - at)
                if (following := max(at + 1.0, now)) < begun + seconds:
                    heapq.heappush(due, (following, number))
        return latencies

    def _answered(self, patience: float | None) -> list[int]:
        """Return the numbers of the clients whose answers have come."""
        numbers = []
        for key, _ in self._selector.select(patience):
            number, answer = key.data
            connection: Any = key.fileobj
            received = connection.recv(BLOCK)
            assert received, "the server has closed the connection"
            answer.extend(received)
            if content_of(answer) is not None:
                assert answer.startswith(b"HTTP/1.1 200"), bytes(answer)
                answer.clear()
                numbers.append(number)
        return numbers

    def close(self) -> None:
        """Close the connections."""
        self._selector.close()
        for each in self._connections:
            each.close()


def begin_fits(url: str) -> list[str]:
    """Start fits that are longer than the measurement."""
    workload = WORKLOADS["W2"]
    with Client(url) as client:
        graph, rows = client.graph(definition(workload).to_json()), client.upload(workload.columns())
        fields = workload.recipe(steps=10**8, record={"every_steps": 100})
        posted = [{"graph": graph.id, "dataset": rows.id, "seed": seed, **fields} for seed in range(FITS)]
    connection = Connection(url)
    fits = [str(connection.post("/v1/fits", **fields)["id"]) for fields in posted]
    connection.close()
    return fits


def steps_of(server: ServerProcess, fits: list[str]) -> int:
    """Return the steps that the fits have done, as far as the server knows."""
    return sum(server.http.get(f"/v1/fits/{fit}").raise_for_status().json()["step"] for fit in fits)


def rate(server: ServerProcess, fits: list[str], act: Any) -> float:
    """Return how many steps a second the fits did during a call."""
    begun, before = time.perf_counter(), steps_of(server, fits)
    act()
    after = steps_of(server, fits)
    return (after - before) / (time.perf_counter() - begun)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    arguments = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, most), most))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, serving(Path(folder), command=COMMAND) as server:
        fits = begin_fits(server.url)
        time.sleep(SETTLE_SECONDS)
        alone, beside, latencies = [], [], []
        used = [0.0, 0.0]
        process = psutil.Process(server.process.pid)
        for _ in range(arguments.rounds):
            alone.append(rate(server, fits, lambda: time.sleep(arguments.seconds)))
            pollers = Pollers(server.url, fits, arguments.clients)
            before = cpu_seconds(process), time.process_time()
            beside.append(rate(server, fits, lambda poll=pollers.poll: latencies.append(poll(arguments.seconds))))
            used = [used[0] + cpu_seconds(process) - before[0], used[1] + time.process_time() - before[1]]
            pollers.close()
        for fit in fits:
            server.http.post(f"/v1/fits/{fit}:cancel").raise_for_status()
    ratios = [1 - with_polls / without for with_polls, without in zip(beside, alone, strict=True)]
    middle, late = (statistics.median(np.quantile(each, q) for each in latencies) for q in (0.5, 0.99))
    print(f"polls a second: {statistics.median(len(each) for each in latencies) / arguments.seconds:.0f}")
    print(f"latency: {1000 * middle:.1f} ms, p99 {1000 * late:.1f} ms")
    of_server, of_clients = (1e6 * seconds / sum(map(len, latencies)) for seconds in used)
    print(f"CPU of a poll: server {of_server:.0f} us, client {of_clients:.0f} us")
    print(f"training is slower by {100 * statistics.median(ratios):.0f} %")


if __name__ == "__main__":
    main()
