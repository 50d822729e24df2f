"""How far a fit is, worked out from its events, and a plain way to show it."""

import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from adjoint_client.events import Event


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a fit is.

    `values` are the latest training values and, as `val_...`, the latest validation values; `rate` is in steps a
    second over the time that it has been watched; `seconds_left` is None until that is known.
    """

    state: str
    step: int
    total_steps: int
    epoch: int
    values: Mapping[str, float]
    rate: float
    seconds_left: float | None

    @property
    def terminal(self) -> bool:
        """Whether the fit has ended."""
        return self.state in ("succeeded", "failed", "cancelled")


Show = Callable[[Progress], None]


class ProgressTracker:
    """Follows the events of one fit."""

    def __init__(self, state: str, step: int, total_steps: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first_step, self._started = step, clock()
        self._state, self._step, self._total, self._epoch = state, step, total_steps, 0
        self._values: dict[str, float] = {}

    def take(self, event: Event) -> Progress:
        """Take the next event into account."""
        if event.kind == "state":
            self._state = event.data["state"]
        elif event.kind == "metric":
            self._measure(event.data)
        return self._progress()

    def at(self, state: str, step: int, values: Mapping[str, float]) -> Progress:
        """Take into account what is known without an event."""
        self._state, self._step, self._values = state, max(self._step, step), dict(values)
        return self._progress()

    def _measure(self, row: Mapping[str, Any]) -> None:
        # The events of the past are replayed first: they must not turn the counter back.
        self._step = max(self._step, row["step"])
        self._epoch = max(self._epoch, row["epoch"])
        prefix = "" if row["split"] == "train" else "val_"
        for name, value in row["values"].items():
            if "/" not in name:
                self._values[prefix + name] = math.nan if value is None else value

    def _progress(self) -> Progress:
        done, elapsed = self._step - self._first_step, self._clock() - self._started
        rate = done / elapsed if elapsed > 0 else 0.0
        left = (self._total - self._step) / rate if rate > 0 else None
        return Progress(self._state, self._step, self._total, self._epoch, dict(self._values), rate, left)


class TextProgress:
    """Shows progress as one line that is rewritten on a terminal, and as a line every few seconds elsewhere."""

    def __init__(
        self, stream: TextIO | None = None, line_every_seconds: float = 5.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._pause = 0.1 if self._live else line_every_seconds
        self._clock = clock
        self._due = -math.inf

    def __call__(self, progress: Progress) -> None:
        """Show it, unless something has been shown a moment ago."""
        if self._clock() < self._due and not progress.terminal:
            return
        self._due = self._clock() + self._pause
        if self._live:
            self._stream.write(f"\r\x1b[K{describe(progress)}{chr(10) if progress.terminal else ''}")
        else:
            self._stream.write(f"{describe(progress)}\n")
        self._stream.flush()


def describe(progress: Progress) -> str:
    """One line: `running 120/500  epoch 3  loss 0.31  240 steps/s  2 s left`."""
    parts = [f"{progress.state} {progress.step}/{progress.total_steps}", f"epoch {progress.epoch}"]
    parts += [f"{name} {value:.4g}" for name, value in progress.values.items() if is_headline(name)]
    if not progress.terminal and progress.seconds_left is not None:
        parts += [f"{progress.rate:.4g} steps/s", f"{progress.seconds_left:.0f} s left"]
    return "  ".join(parts)


def is_headline(name: str) -> bool:
    """Whether people want to see the value called `name` while a fit runs."""
    return name not in ("lr", "grad_norm")
