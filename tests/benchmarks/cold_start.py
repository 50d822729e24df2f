"""How long a new process takes to its first and its second training step: `python -m tests.benchmarks.cold_start`.

The time counts from before the process is started, so importing, planning and (in a native executor) loading compiled
kernels are in it. Each is run several times, and once before, so that files are in memory and kernels in their cache.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

import engine
from tests.benchmarks.measure import ROOT, environment
from tests.benchmarks.starts import fits
from tests.benchmarks.workloads import WORKLOADS

MEASURED = ("W1", "W4")


def main() -> None:
    """Measure, or be what is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", default=MEASURED, help="by default W1 and W4")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--step-by", metavar="EXECUTOR", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step_by:
        _step_twice(arguments.workloads[0], arguments.step_by, arguments.threads)
        return
    print(f"{'':10}{'executor':12}{'first step s':>14}{'second step s':>16}")
    for name in arguments.workloads:
        for executor in engine.executors():
            command = [sys.executable, "-m", __spec__.name, name, "--step-by", executor]
            command += ["--threads", str(arguments.threads)]
            _, *runs = [_timed(command, arguments.threads) for _ in range(arguments.repeats + 1)]
            first, second = (statistics.median(times) for times in zip(*runs, strict=True))
            print(f"{name:10}{executor:12}{first:14.3f}{second:16.3f}", flush=True)


def _timed(command: list[str], threads: int) -> list[float]:
    """Run the process; return the seconds from now to each of its steps."""
    start = time.time()
    done = subprocess.run(
        command, cwd=ROOT, env=environment(threads, None), stdout=subprocess.PIPE, text=True, check=True
    )
    return [float(moment) - start for moment in done.stdout.split()]


def _step_twice(name: str, executor: str, threads: int) -> None:
    """Train two steps, and print when each was done."""
    (fit,) = fits(WORKLOADS[name], engine.Execution(executor, threads))
    for _ in range(2):
        fit.advance()
        print(time.time())


if __name__ == "__main__":
    main()
