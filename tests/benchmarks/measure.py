"""Contenders as processes that stay up and are timed in turn, so that what slows the machine slows all of them."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.benchmarks.roster import Entry

ROOT = Path(__file__).parents[2]
START_SECONDS = 600.0
"""A contender that is not ready after so long counts as missing; all of a row compile at the same time."""
SLOW = 10
"""A contender whose round takes more than this many times what it should is not timed again."""


@dataclass
class Outcome:
    """What is known of a contender on one workload.

    Attributes:
        name: of the contender.
        missing: why it did not run, if so.
        version: of its library.
        setting: which of its settings it found to be the fastest.
        losses: at the steps that are checked.
        seconds: per step, of each round.
        numpy_steps: ops that it leaves to NumPy; None of a contender that has no plan.
    """

    name: str
    missing: str = ""
    version: str = ""
    setting: str = ""
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    numpy_steps: list[str] | None = None

    def to_json(self) -> dict[str, Any]:
        """Write it with median and range in milliseconds."""
        if self.missing:
            return {"name": self.name, "missing": self.missing}
        ms = [1e3 * seconds for seconds in self.seconds]
        return {
            "name": self.name, "version": self.version, "setting": self.setting, "losses": self.losses,
            "ms": statistics.median(ms), "low": min(ms), "high": max(ms), "rounds": ms,
            **({} if self.numpy_steps is None else {"numpy_steps": self.numpy_steps}),
        }  # fmt: skip


class Running:
    """One contender's process, while it takes part."""

    def __init__(self, entry: Entry, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it."""
        self.outcome = Outcome(entry.name)
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (closed by __exit__)
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._overdue = threading.Timer(START_SECONDS, self._process.kill)
        self._slow = False

    def __enter__(self) -> Self:
        """Let it start."""
        self._overdue.start()
        return self

    def wait_until_ready(self) -> None:
        """Wait until it has compiled and checked its settings, or is known to be missing."""
        message = self._heard("ready", "missing")
        self._overdue.cancel()
        self.outcome.missing = self.outcome.missing or message.get("missing", "")

    def choose(self) -> None:
        """Let it find its fastest setting, unless it is missing."""
        if self.outcome.missing:
            return
        self._send("choose")
        found = self._heard("setting")
        self.outcome.version, self.outcome.setting = found.get("version", ""), found.get("setting", "")
        self.outcome.losses, self.outcome.numpy_steps = found.get("losses", []), found.get("numpy_steps")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let it end."""
        self._overdue.cancel()
        self._send("quit")
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream is not None
            with suppress(BrokenPipeError):  # an order that a process which has ended did not take
                stream.close()

    def go(self, seconds: float) -> None:
        """Time it for about so long, unless it is missing or slow."""
        if self.outcome.missing or self._slow:
            return
        began = time.perf_counter()
        self._send(f"go {seconds}")
        message = self._heard("seconds_per_step")
        if not self.outcome.missing:
            self.outcome.seconds.append(message["seconds_per_step"])
        self._slow = time.perf_counter() - began > SLOW * seconds

    def _send(self, order: str) -> None:
        assert self._process.stdin is not None
        try:
            print(order, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            self._process.wait()

    def _heard(self, *kinds: str) -> dict[str, Any]:
        """Return the next message of these kinds; libraries may print between them."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and any(kind in message for kind in kinds):
                return message
        self._errors.seek(0)
        said = self._errors.read().strip().splitlines()
        self.outcome.missing = (said[-1] if said else f"ended with status {self._process.wait()}")[:200]
        return {}


def environment(threads: int, core_type: str | None) -> dict[str, str]:
    """Return the environment that all contenders get: equal threads, and no BLAS kernels but those asked for."""
    chosen = {name: value for name, value in os.environ.items() if not name.startswith(("OPENBLAS_", "ADJOINT_"))}
    chosen |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    return chosen | ({"OPENBLAS_CORETYPE": core_type} if core_type else {})


def compare(
    commands: Mapping[Entry, Sequence[str]], environment: Mapping[str, str], *, rounds: int, seconds: float
) -> list[Outcome]:
    """Start all contenders at the same time, then time them in turn for that many rounds."""
    with ExitStack() as stack:
        running = [stack.enter_context(Running(entry, at, environment)) for entry, at in commands.items()]
        for contender in running:
            contender.wait_until_ready()
        for contender in running:
            contender.choose()
        for _ in range(rounds):
            for contender in running:
                contender.go(seconds)
        return [contender.outcome for contender in running]
