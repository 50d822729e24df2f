"""What large graphs cost a server, and how long others wait beside them: `python -m tests.benchmarks.graphs`.

Each graph is a chain of elementwise ops, as a program and as nodes, or of layers, every second one with a weight and a
bias. The server's CPU time for one POST /v1/graphs is shown by node; the longest wait is that of a status poll that is
repeated in that time. A fit of the graph is planned twice before its first row: by POST /v1/fits, to know its memory,
and in a worker.
"""

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.raw_http import Connection
from tests.support.server import COMMAND, ServerProcess, serving

NODES = (1_000, 5_000, 9_900)
REPEATS = 5
OPS = ("tanh", "sigmoid", "exp", "neg")
TRAINED = 4
"""Nodes besides the chain."""
WIDTH = 4
"""Numbers of a row between layers."""


def chain_program(nodes: int, number: int) -> dict[str, Any]:
    """Return a graph of that many nodes as a program; each number gives another graph."""
    lines = [f"h0 = x * w + {number}.5"]
    lines += [f"h{place} = {OPS[place % len(OPS)]}(h{place - 1})" for place in range(1, nodes - TRAINED + 1)]
    program = "\n".join([*lines, f"loss = mean(h{nodes - TRAINED})"])
    return {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": program}


def chain_nodes(nodes: int, number: int) -> dict[str, Any]:
    """Return the same graph as nodes."""
    entries: list[dict[str, Any]] = [
        {"name": "scaled", "op": "mul", "inputs": ["x", "w"]},
        {"name": "h0", "op": "add", "inputs": ["scaled", number + 0.5]},
        *(
            {"name": f"h{place}", "op": OPS[place % len(OPS)], "inputs": [f"h{place - 1}"]}
            for place in range(1, nodes - TRAINED + 1)
        ),
        {"name": "loss", "op": "mean", "inputs": [f"h{nodes - TRAINED}"]},
    ]
    return {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "nodes": entries, "losses": ["loss"]}


def layers(nodes: int, number: int) -> dict[str, Any]:
    """Return a graph of layers with about that many nodes."""
    pairs: list[Any] = [{"layer": "linear", "units": WIDTH}, "tanh"] * ((nodes - TRAINED) // 2)
    columns = {name: ["batch", WIDTH] for name in ("x", "y")}
    return {"name": f"n{number}", "inputs": columns, "layers": pairs, "loss": {"kind": "mse_loss", "target": "y"}}


FORMS = {"program": chain_program, "nodes": chain_nodes, "layers": layers}
"""The graph of a number of nodes, by its form."""
Make = Callable[[int, int], dict[str, Any]]


class Poller:
    """Polls in a thread of its own, and keeps the longest time that an answer took."""

    def __init__(self, url: str) -> None:
        """Begin to poll."""
        self.longest = 0.0
        self._connection = Connection(url)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def _poll(self) -> None:
        while not self._is_over.is_set():
            began = time.perf_counter()
            self._connection.get("/v1/graphs?limit=1")
            self.longest = max(self.longest, time.perf_counter() - began)

    def stop(self) -> float:
        """End, and return the longest wait in seconds."""
        self._is_over.set()
        self._thread.join()
        self._connection.close()
        return self.longest


def post_seconds(server: ServerProcess, nodes: int, make: Make) -> float:
    """Return the CPU time of the server for one POST, in seconds."""
    process = psutil.Process(server.process.pid)
    spent = []
    for number in range(REPEATS):
        before = cpu_seconds(process)
        server.http.post("/v1/graphs", json=make(nodes, number)).raise_for_status()
        spent.append(cpu_seconds(process) - before)
    return statistics.median(spent)


def longest_wait(server: ServerProcess, nodes: int, make: Make) -> float:
    """Return the longest time that another request takes while graphs are posted, in seconds."""
    # Encoded before, which would halt the poller.
    bodies = [json.dumps(make(nodes, number)).encode() for number in range(REPEATS, 2 * REPEATS)]
    headers = {"Content-Type": "application/json"}
    poller = Poller(server.url)
    for body in bodies:
        server.http.post("/v1/graphs", content=body, headers=headers).raise_for_status()
    return poller.stop()


def first_row_seconds(server: ServerProcess, nodes: int, make: Make) -> tuple[float, float]:
    """Return the times from the POST of a fit to its answer and to its first row, in seconds."""
    graph = server.http.post("/v1/graphs", json=make(nodes, 2 * REPEATS)).raise_for_status().json()["id"]
    row: Any = [0.1] * WIDTH if make is layers else 0.1
    columns = {name: [row] * 3 for name in ("x", *("y" if make is layers else ""))}
    posting = Connection(server.url)
    began = time.perf_counter()
    fit = posting.post("/v1/fits", graph=graph, dataset={"columns": columns}, steps=5)["id"]
    posted = time.perf_counter() - began
    # Not opened before: the server closes connections on which nothing is asked for seconds.
    streaming = Connection(server.url)
    streaming.wait_for(f"/v1/fits/{fit}/events", b"event: metric")
    seconds = time.perf_counter() - began
    posting.close()
    streaming.close()
    return posted, seconds


def main() -> None:
    """Measure, and print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, serving(Path(folder), command=COMMAND) as server:
        post_seconds(server, 10, chain_program)
        first_row_seconds(server, 10, chain_program)
        print("| nodes | form | CPU of a POST | of a node | longest wait of others |\n|---|---|---|---|---|")
        for nodes in NODES:
            for form, make in FORMS.items():
                posted, waited = post_seconds(server, nodes, make), longest_wait(server, nodes, make)
                milliseconds = f"{1000 * posted:.0f} ms | {1000 * posted / nodes:.3f} ms | {1000 * waited:.0f} ms"
                print(f"| {nodes} | {form} | {milliseconds} |", flush=True)
        print("\n| nodes | form | answer to a fit | first row |\n|---|---|---|---|")
        for nodes in NODES:
            for form, make in (("program", chain_program), ("layers", layers)):
                posted, seconds = first_row_seconds(server, nodes, make)
                print(f"| {nodes} | {form} | {posted:.1f} s | {seconds:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
