"""What a contender says to the program that measures it: lines of JSON.

It checks itself, warms up, prints `{"ready": ...}` (or `{"missing": reason}`), then answers each line `go SECONDS` of
its standard input with `{"seconds_per_step": ...}`, and ends at `quit`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tests.benchmarks.families import Columns
from tests.benchmarks.workloads import CHECKED, WORKLOADS, Workload

BLOCKS = 5
"""Parts of a measurement; their median counts."""


class Missing(Exception):
    """This contender cannot run this workload here; the message says why."""


class Contender(Protocol):
    """One way of training one workload, at its first weights when it is made."""

    setting: str
    version: str

    def losses(self) -> list[float]:
        """Train from the first weights; return the loss at each of `CHECKED`, before those steps' updates."""

    def seconds_per_step(self, seconds: float) -> float:
        """Train for about so long, and return what a step took."""


class Steps:
    """A contender that trains a given number of steps on request."""

    setting = ""
    version = ""
    _estimate = 1e-3

    def run(self, steps: int) -> tuple[int, float]:
        """Train at least so many steps; return how many it were, and the loss of the last."""
        raise NotImplementedError

    def losses(self) -> list[float]:
        """Return the loss at each of `CHECKED`; a `run` of a whole pool must be exact."""
        before = (0, *CHECKED)
        return [self.run(stop - start)[1] for start, stop in zip(before, CHECKED, strict=False)]

    def seconds_per_step(self, seconds: float) -> float:
        """Train in blocks, and return the median of what a step took in each."""
        taken: list[float] = []
        began = time.perf_counter()
        while not taken or (len(taken) < BLOCKS and time.perf_counter() - began < seconds):
            start = time.perf_counter()
            done, _ = self.run(max(1, round(seconds / BLOCKS / self._estimate)))
            taken.append((time.perf_counter() - start) / done)
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
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--weights", type=Path, required=True, help="the file of the first weights")
    parser.add_argument("--threads", type=int, default=2)
    for option in options:
        parser.add_argument(f"--{option}")
    arguments = parser.parse_args()
    try:
        with np.load(arguments.weights) as file:
            makes = build(WORKLOADS[arguments.workload], dict(file), arguments)
        contender, losses = _fastest(makes)
    except (Missing, ImportError) as reason:
        _say(missing=str(reason))
        return
    _say(ready=True, version=contender.version, setting=contender.setting, losses=losses)
    for line in sys.stdin:
        order, _, seconds = line.partition(" ")
        if order != "go":
            break
        _say(seconds_per_step=contender.seconds_per_step(float(seconds)))


def _fastest(makes: Sequence[Make]) -> tuple[Contender, list[float]]:
    """Make every candidate, let it compute its losses, and keep the fastest."""
    tried = []
    for make in makes:
        contender = make()
        losses = contender.losses()
        contender.seconds_per_step(0.05)
        rate = min(contender.seconds_per_step(0.2) for _ in range(2)) if len(makes) > 1 else 0.0
        tried.append((rate, contender, losses))
    _, contender, losses = min(tried, key=lambda entry: entry[0])
    return contender, losses


def _say(**message: Any) -> None:
    print(json.dumps(message), flush=True)
