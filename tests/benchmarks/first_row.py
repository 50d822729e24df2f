"""Milliseconds from POST /v1/fits to the first metric row on an event stream: `python -m tests.benchmarks.first_row`.

Cold is the first fit of a server, warm the later ones, in which the models take turns, after a pause each. Each stage
is shown by the time from the one before, and by the CPU time of the worker in it, which depends less on what else the
machine does. Compiled kernels are on disk in both cases. Medians.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adjoint_client import Client
from tests.benchmarks.raw_http import Connection
from tests.benchmarks.starts import definition
from tests.benchmarks.traced import BOUND, LOADED, PLANNED, PRELOADED, TRACE
from tests.benchmarks.workloads import WORKLOADS, Workload
from tests.support.server import ServerProcess, serving

MODELS = {"iris MLP": "W1", "CNN": "W3", "LSTM": "lstm"}
COLD, WARM = 3, 9
PAUSE = 1.0
"""Longer than a server waits until it forks a worker for the next fit."""
STAGES = (
    "POST answered", "claimed", "assignment made", "process forked", "assignment read", "executor loaded", "fit made",
    "first step done", "row stored", "row received",
)  # fmt: skip
OF_WORKERS = STAGES[4:8]
WITHIN = (PLANNED, BOUND, LOADED)
"""What is part of other stages."""

FEW_STEPS = 20
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Start:
    """Seconds from a POST to each stage, and CPU seconds of the worker until then, and on what is WITHIN stages."""

    stages: dict[str, float]
    cpu: dict[str, float]
    within: dict[str, float]


class Traced:
    """A server that traces its fits, with everything stored that they need."""

    def __init__(self, server: ServerProcess, trace: Path) -> None:
        """Store graphs and data at the server."""
        self._server, self._trace = server, trace
        with Client(server.url) as client:
            self._fits = {name: _fit_of(client, WORKLOADS[workload]) for name, workload in MODELS.items()}

    def start(self, name: str) -> Start:
        """Start a fit, and return when it passed which stage; it has ended by then."""
        posting, streaming = Connection(self._server.url), Connection(self._server.url)
        before = self._trace.stat().st_size
        posted = time.monotonic()
        fit_id = posting.post("/v1/fits", **self._fits[name])["id"]
        answered = time.monotonic()
        streaming.wait_for(f"/v1/fits/{fit_id}/events", b"event: metric")
        received = time.monotonic()
        posting.close()
        streaming.close()
        path = f"/v1/fits/{fit_id}?wait=30"
        while self._server.http.get(path).raise_for_status().json()["state"] != "succeeded":
            pass
        ends, cpu = {"POST answered": answered, "row received": received}, dict.fromkeys(STAGES, 0.0)
        within = dict.fromkeys(WITHIN, 0.0)
        for at, used, seconds, stage in self._lines(before):
            if stage in within and "first step done" not in ends:
                within[stage] += seconds
            elif stage not in ends and (stage != "row stored" or "first step done" in ends):
                ends[stage], cpu[stage] = at, used
        return Start({stage: ends[stage] - posted for stage in STAGES}, cpu, within)

    def wait_for_kernels(self) -> None:
        """Wait until the process that workers are forked from has loaded all it loads after the first fit."""
        while all(stage != PRELOADED for *_, stage in self._lines(0)):
            time.sleep(POLL_SECONDS)

    def _lines(self, start: int) -> Iterator[tuple[float, float, float, str]]:
        with self._trace.open() as trace:
            trace.seek(start)
            for line in trace:
                at, used, seconds, stage = line.rstrip("\n").split(" ", 3)
                yield float(at), float(used), float(seconds), stage


def _fit_of(client: Client, workload: Workload) -> dict[str, Any]:
    graph, rows = client.graph(definition(workload).to_json()), client.upload(workload.columns())
    return {
        "graph": graph.id,
        "dataset": rows.id,
        **workload.recipe(steps=FEW_STEPS, record={"every_steps": 1}),
    }


@contextmanager
def traced_server() -> Iterator[Traced]:
    """Run a server for the length of the block."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        trace = Path(folder, "trace")
        trace.touch()
        command = (sys.executable, "-m", "tests.benchmarks.traced")
        with serving(Path(folder, "data"), command=command, environment={TRACE: str(trace)}) as server:
            yield Traced(server, trace)


def show(title: str, starts: Sequence[Start]) -> None:
    """Print the stages of equal starts."""
    times = [1000 * start.stages["row received"] for start in starts]
    print(f"\n{title}: median {statistics.median(times):.0f} ms, least {min(times):.0f} ms to the first row")
    print(f"  {'':34}{'elapsed':>9}{'CPU of the worker':>20}")
    for last, stage in zip((None, *STAGES), STAGES, strict=False):
        elapsed = [start.stages[stage] - start.stages.get(last or "", 0.0) for start in starts]
        cpu = [start.cpu[stage] - start.cpu.get(last or "", 0.0) for start in starts] if stage in OF_WORKERS else []
        print(f"  {stage:34}{_milliseconds(elapsed)}{_milliseconds(cpu):>20}")
    for part in WITHIN:
        print(f"    of these {part:34}{_milliseconds([start.within[part] for start in starts]):>20}")
    sys.stdout.flush()


def _milliseconds(seconds: Sequence[float]) -> str:
    return f"{1000 * statistics.median(seconds):9.1f}" if seconds else ""


def main() -> None:
    """Measure, and print the stages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cold", type=int, default=COLD, help="servers that are started for each model")
    parser.add_argument("--warm", type=int, default=WARM, help="later fits of each model")
    parser.add_argument("--pause", type=float, default=PAUSE, help="seconds before each of these")
    arguments = parser.parse_args()
    os.environ.pop("OPENBLAS_CORETYPE", None)
    cold: dict[str, list[Start]] = {name: [] for name in MODELS}
    for _ in range(arguments.cold):
        for name, starts in cold.items():
            with traced_server() as server:
                starts.append(server.start(name))
    for name, starts in cold.items():
        show(f"{name}, cold", starts)
    with traced_server() as server:
        for name in MODELS:
            server.start(name)
        server.wait_for_kernels()
        warm = []
        for name in [name for _ in range(arguments.warm) for name in MODELS]:
            time.sleep(arguments.pause)
            warm.append((name, server.start(name)))
    for name in MODELS:
        show(f"{name}, warm", [start for model, start in warm if model == name])


if __name__ == "__main__":
    main()
