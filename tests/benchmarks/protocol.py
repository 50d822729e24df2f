"""What a contender says to the program that measures it: lines of JSON.

It compiles and checks each of its settings, prints `{"ready": true}` (or `{"missing": reason}`), answers the line
`choose` of its standard input with what it is by its fastest setting, then each line `go SECONDS` with
`{"seconds_per_step": ...}`, and ends at `quit`. Until all are ready they run at the same time, from then on in turn.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tests.benchmarks.families import Columns
from tests.benchmarks.workloads import CHECKED, LARGE, WORKLOADS, Workload

BLOCKS = 5
"""Parts of a measurement; their median counts."""


class Missing(Exception):
    """This contender cannot run this workload here; the message says why."""


class Contender(Protocol):
    """One way of training one workload, at its first weights when it is made."""

    setting: str
    version: str
    numpy_steps: Sequence[str] | None

    def losses(self) -> list[float]:
        """Train from the first weights; return the loss at each of `CHECKED`, before those steps' updates."""

    def seconds_per_step(self, seconds: float) -> float:
        """Train for about so long, and return what a step took."""


class Steps:
    """A contender that trains a given number of steps on request."""

    setting = ""
    version = ""
    numpy_steps: Sequence[str] | None = None
    _estimate = 1e-3
    clock = staticmethod(time.perf_counter)

    def run(self, steps: int) -> tuple[int, float]:
        """Train at least so many steps; return how many it were, and the loss of the last."""
        raise NotImplementedError

    def losses(self) -> list[float]:
        """Return the loss at each of `CHECKED`; a `run` of a whole pool must be exact."""
        losses = []
        for start, stop in itertools.pairwise((0, *CHECKED)):
            began = time.perf_counter()
            losses.append(self.run(stop - start)[1])
            self._estimate = (time.perf_counter() - began) / (stop - start)
        return losses

    def seconds_per_step(self, seconds: float) -> float:
        """Train in blocks, and return the median of what a step took in each."""
        taken: list[float] = []
        began = time.perf_counter()
        while not taken or (len(taken) < BLOCKS and time.perf_counter() - began < seconds):
            start = self.clock()
            done, _ = self.run(max(1, round(seconds / BLOCKS / self._estimate)))
            taken.append((self.clock() - start) / done)
            self._estimate = taken[-1]
        return statistics.median(taken)


Make = Callable[[], Contender]
Build = Callable[[Workload, Columns, argparse.Namespace], Sequence[Make]]


def serve(build: Build, *options: str) -> None:
    """Run a contender: the fastest of those that `build` offers for the workload of the command line.

    `build` is given the workload, its first weights and the command line, on which `options` are allowed too. It raises
    Missing, or ImportError where the library is not there.
    """
    parser = argparse.ArgumentParser()
    known = WORKLOADS | LARGE
    parser.add_argument("workload", choices=known)
    parser.add_argument("--weights", type=Path, required=True, help="the file of the first weights")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu-time", action="store_true", help="count the CPU time of a contender of one thread")
    for option in options:
        parser.add_argument(f"--{option}")
    arguments = parser.parse_args()
    try:
        if arguments.cpu_time:
            Steps.clock = staticmethod(time.process_time)
        with np.load(arguments.weights) as file:
            makes = build(known[arguments.workload], dict(file), arguments)
        checked = [(contender, contender.losses()) for contender in (make() for make in makes)]
    except (Missing, ImportError) as reason:
        _say(missing=str(reason))
        return
    _say(ready=True)
    _obey(checked)


def _obey(checked: Sequence[tuple[Contender, list[float]]]) -> None:
    """Do what the lines of standard input ask for, with contenders and their losses."""
    contender, losses = checked[0]
    for line in sys.stdin:
        order, _, seconds = line.partition(" ")
        if order.strip() == "choose":
            contender, losses = min(checked, key=lambda entry: _rate(entry[0])) if len(checked) > 1 else checked[0]
            _say(setting=contender.setting, version=contender.version, losses=losses, numpy_steps=contender.numpy_steps)
        elif order == "go":
            _say(seconds_per_step=contender.seconds_per_step(float(seconds)))
        else:
            break


def _rate(contender: Contender) -> float:
    """Return the seconds of a step, warm."""
    contender.seconds_per_step(0.05)
    return min(contender.seconds_per_step(0.2) for _ in range(2))


def _say(**message: Any) -> None:
    print(json.dumps(message), flush=True)
