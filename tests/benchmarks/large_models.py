"""What a step of a large model costs a parameter, and what bounds it: `python -m tests.benchmarks.large_models`.

Batches of 8 of MLPs of two equal hidden layers, one thread each, this project and torch eager in turn. Times are CPU
times, so that other programs do not count but by the caches and the memory they use. Beside them stands the rate at
which this machine streams arrays of as many numbers with as many reads and writes, measured between the two.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.benchmarks.families import Array
from tests.benchmarks.machine import machine
from tests.benchmarks.measure import Outcome, compare, environment
from tests.benchmarks.readme import PAGE
from tests.benchmarks.roster import ROSTER
from tests.benchmarks.starts import parameter_count, write_weights
from tests.benchmarks.workloads import LARGE, Workload

CONTENDERS = ("Adjoint native", "torch eager")
BEGIN, END = "<!-- large models: begin -->", "<!-- large models: end -->"
HEADS = (
    "parameters", "optimizer", "Adjoint, ns", "torch, ns", "bytes", "Adjoint, GB/s", "stream, GB/s", "by two threads",
)  # fmt: skip


@dataclass(frozen=True)
class Traffic:
    """The arrays as large as the parameters that a step reads and writes, each once from memory."""

    reads: int
    writes: int

    @property
    def number_bytes(self) -> int:
        """Bytes for each parameter of float32."""
        return 4 * (self.reads + self.writes)


TRAFFIC = {"adam": Traffic(reads=7, writes=4), "sgd": Traffic(reads=5, writes=2)}
"""The products read the weights twice and write the gradient, whose squares are read once. Then Adam reads parameters,
gradient and both moments and writes all but the gradient; SGD reads parameters and gradient and writes the former."""


def stream_rate(count: int, traffic: Traffic, threads: int, seconds: float) -> float:
    """Return bytes of a second of CPU time, of threads that read and write together arrays of `count` numbers."""
    with ThreadPoolExecutor(threads) as pool:
        parts = [pool.submit(_stream_time, max(count // threads, 1), traffic, seconds) for _ in range(threads)]
        return traffic.number_bytes * (max(count // threads, 1) * threads) / max(part.result() for part in parts)


def _stream_time(count: int, traffic: Traffic, seconds: float) -> float:
    """Return the CPU seconds of this thread for one pass; arrays of their own stand for each that is written."""
    calls = passes(np.ones((traffic.reads + traffic.writes, count), np.float32), traffic)
    taken: list[float] = []
    began = time.perf_counter()
    while len(taken) < 2 or time.perf_counter() - began < seconds:
        start = time.thread_time()
        for each in calls:
            each()
        taken.append(time.thread_time() - start)
    return statistics.median(taken[1:])


def passes(arrays: Array, traffic: Traffic) -> list[Callable[[], object]]:
    """Return calls of NumPy that read and write that many rows: sums of two, then copies, then only reads."""
    sums = min(traffic.writes, traffic.reads - traffic.writes)
    copies = traffic.writes - sums
    triples = [arrays[3 * n : 3 * n + 3] for n in range(sums)]
    pairs = [arrays[3 * sums + 2 * n :][:2] for n in range(copies)]
    alone = arrays[3 * sums + 2 * copies :]
    return [
        *(lambda a=a, b=b, out=out: np.add(a, b, out=out) for a, b, out in triples),
        *(lambda a=a, out=out: np.copyto(out, a) for a, out in pairs),
        *(lambda a=a: np.dot(a, a) for a in alone),
    ]


def measure(workload: Workload, peers: str, rounds: int, seconds: float) -> list[str]:
    """Return the cells of one row."""
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "weights.npz"
        write_weights(workload, weights)
        rest = [workload.name, "--weights", str(weights), "--threads", "1", "--cpu-time"]
        commands = {ROSTER[name]: [*ROSTER[name].command(sys.executable, peers), *rest] for name in CONTENDERS}
        ours, torch = compare(commands, environment(1, None), rounds=rounds, seconds=seconds)
    count, traffic = parameter_count(workload), TRAFFIC[workload.optimizer]
    rates = [stream_rate(count, traffic, threads, seconds) for threads in (1, 2)]
    moved = traffic.number_bytes / _nanoseconds(ours, count) if ours.seconds else None
    return [
        f"{count:,}", workload.optimizer, _shown(ours, count), _shown(torch, count), str(traffic.number_bytes),
        "-" if moved is None else f"{moved:.1f}", *(f"{rate / 1e9:.1f}" for rate in rates),
    ]  # fmt: skip


def _nanoseconds(outcome: Outcome, count: int) -> float:
    return 1e9 * statistics.median(outcome.seconds) / count


def _shown(outcome: Outcome, count: int) -> str:
    return f"{_nanoseconds(outcome, count):.2f}" if outcome.seconds else "-"


def with_table(page: str, table: str) -> str:
    """Return the page with this table between its markers."""
    found = re.search(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", page, re.DOTALL)
    if found is None:
        raise SystemExit(f"the page has no lines {BEGIN} and {END}")
    return page[: found.start()] + f"{BEGIN}\n{table}\n{END}" + page[found.end() :]


def main() -> None:
    """Measure, print, and write the table into the docs if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"by default all: {', '.join(LARGE)}")
    parser.add_argument("--peers", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one round of one contender")
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")
    arguments = parser.parse_args()
    about = machine()
    lines = [f"{about['processor']}, {about['cores']} cores:", "", _line(HEADS), "|---" * len(HEADS) + "|"]
    print("\n".join(lines), flush=True)
    for name in arguments.workloads or LARGE:
        lines.append(_line(measure(LARGE[name], arguments.peers, arguments.rounds, arguments.seconds)))
        print(lines[-1], flush=True)
    if arguments.write:
        PAGE.write_text(with_table(PAGE.read_text("utf-8"), "\n".join(lines)), "utf-8")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
