"""How long a new process takes to its first and its second training step: `python -m tests.benchmarks.cold_start`.

The time counts from before the process is started, so importing, planning and (in a native executor) loading compiled
kernels are in it. Each is run several times, and once before, so that files are in memory and kernels in their cache.
With `--cold` it runs twice, with an empty folder of compiled kernels at first: a new kind of model on a new machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

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
    parser.add_argument("--cold", action="store_true", help="compile all kernels; seconds of CPU time as well")
    parser.add_argument("--step-by", metavar="EXECUTOR", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step_by:
        _step_twice(arguments.workloads[0], arguments.step_by, arguments.threads)
        return
    if arguments.cold:
        _print_cold(arguments.workloads, arguments.threads)
        return
    print(f"{'':10}{'executor':12}{'first step s':>14}{'second step s':>16}")
    for name in arguments.workloads:
        for executor in engine.executors():
            command = [sys.executable, "-m", __spec__.name, name, "--step-by", executor]
            command += ["--threads", str(arguments.threads)]
            _, *runs = [_timed(command, arguments.threads) for _ in range(arguments.repeats + 1)]
            first, second = (statistics.median(times) for times in zip(*runs, strict=True))
            print(f"{name:10}{executor:12}{first:14.3f}{second:16.3f}", flush=True)


def _print_cold(names: Sequence[str], threads: int) -> None:
    """Print what a process takes to its first step without a compiled kernel, and the next one, which finds them."""
    print(f"{'':10}{'cold s':>10}{'CPU s':>10}{'kept s':>10}{'CPU s':>10}{'kernels':>10}")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", __spec__.name, name, "--step-by", "native", "--threads", str(threads)]
            cells: list[float] = []
            for _ in range(2):
                before = sum(os.times()[2:4])
                cells.append(_timed(command, threads, {"XDG_CACHE_HOME": folder})[0])
                cells.append(sum(os.times()[2:4]) - before)
            kernels = len(list(Path(folder).rglob("*.nbc")))
        print(f"{name:10}" + "".join(f"{cell:10.2f}" for cell in cells) + f"{kernels:10}", flush=True)


def _timed(command: list[str], threads: int, more: Mapping[str, str] = MappingProxyType({})) -> list[float]:
    """Run the process; return the seconds from now to each of its steps."""
    start = time.time()
    done = subprocess.run(
        command, cwd=ROOT, env=environment(threads, None) | dict(more), stdout=subprocess.PIPE, text=True, check=True
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
