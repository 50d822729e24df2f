"""Contenders as processes that stay up and are timed in turn, so that what slows the machine slows all of them."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.benchmarks.roster import Entry

ROOT = Path(__file__).parents[2]
START_SECONDS = 300.0
"""A contender that is not ready after so long counts as missing."""


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
    """

    name: str
    missing: str = ""
    version: str = ""
    setting: str = ""
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Write it with median and range in milliseconds."""
        if self.missing:
            return {"name": self.name, "missing": self.missing}
        ms = [1e3 * seconds for seconds in self.seconds]
        return {
            "name": self.name, "version": self.version, "setting": self.setting, "losses": self.losses,
            "ms": statistics.median(ms), "low": min(ms), "high": max(ms), "rounds": ms,
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

    def __enter__(self) -> Self:
        """Wait until it is ready, or known to be missing."""
        overdue = threading.Timer(START_SECONDS, self._process.kill)
        overdue.start()
        message = self._heard("ready", "missing")
        overdue.cancel()
        if not self.outcome.missing:
            self.outcome.missing = message.get("missing", "")
            self.outcome.version, self.outcome.setting = message.get("version", ""), message.get("setting", "")
            self.outcome.losses = message.get("losses", [])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let it end."""
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
        """Time it for about so long."""
        if not self.outcome.missing:
            self._send(f"go {seconds}")
            message = self._heard("seconds_per_step")
            if not self.outcome.missing:
                self.outcome.seconds.append(message["seconds_per_step"])

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
    """Start all contenders, one after another, then time them in turn for so many rounds."""
    with ExitStack() as stack:
        running = [stack.enter_context(Running(entry, at, environment)) for entry, at in commands.items()]
        for _ in range(rounds):
            for contender in running:
                contender.go(seconds)
        return [contender.outcome for contender in running]
