"""How far a fit is, worked out from its events, and a plain way to show it."""

import math
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TextIO

from adjoint_client.events import Event


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a fit is.

    `values` are the latest training values and, as `val_...`, the latest validation values; `rate` is in steps a
    second over the time that it has been watched; `seconds_left` is None until that is known. While the fit waits for
    kernels, `compiling` says how many of how many are compiled.
    """

    state: str
    step: int
    total_steps: int
    epoch: int
    values: Mapping[str, float]
    rate: float
    seconds_left: float | None
    compiling: tuple[int, int] | None = None

    @property
    def terminal(self) -> bool:
        """Whether the fit has ended."""
        return self.state in ("succeeded", "failed", "cancelled")


Show = Callable[[Progress], None]

_COLUMNS = 80
_BAR_COLUMNS, _SHORT_BAR_COLUMNS = 20, 10
_NAME_LETTERS = 64
_LIVE_SECONDS = 0.1


class ProgressTracker:
    """Follows the events of one fit."""

    def __init__(self, state: str, step: int, total_steps: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first_step, self._started = step, clock()
        self._state, self._step, self._total, self._epoch = state, step, total_steps, 0
        self._values: dict[str, float] = {}
        self._compiling: tuple[int, int] | None = None

    def take(self, event: Event) -> Progress:
        """Take the next event into account."""
        if event.kind in ("state", "metric"):
            self._compiling = None
        if event.kind == "state":
            self._state = event.data["state"]
        elif event.kind == "metric":
            self._measure(event.data)
        elif event.kind == "log" and event.data.get("code") == "compiling":
            self._compiling = _unfinished(event.data)
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
        values = dict(self._values)
        return Progress(self._state, self._step, self._total, self._epoch, values, rate, left, self._compiling)


def _unfinished(entry: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return how many of how many are done by an entry of the log; None once all are, and if it does not say."""
    count, total = entry.get("count", 0), entry.get("total", 0)
    return (count, total) if count < total else None


class TextProgress:
    """Shows progress as one line that is rewritten on a terminal or in a notebook, and as lines elsewhere."""

    def __init__(
        self, stream: TextIO | None = None, line_every_seconds: float = 5.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream or sys.stderr
        self._card = _notebook_card() if stream is None else None
        self._live = self._card is not None or self._stream.isatty()
        self._pause = _LIVE_SECONDS if self._live else line_every_seconds
        self._clock = clock
        self._due = -math.inf

    def __call__(self, progress: Progress) -> None:
        """Show it, unless something has been shown a moment ago."""
        if self._clock() < self._due and not progress.terminal:
            return
        self._due = self._clock() + self._pause
        if self._card is not None:
            self._card(progress)
            return
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\x1b[K{bar_line(progress, width)}{chr(10) if progress.terminal else ''}")
        else:
            self._stream.write(f"{describe(progress)}\n")
        self._stream.flush()


def _notebook_card() -> Callable[[Progress], None] | None:
    """Return what shows progress in the cell of the notebook that this runs in; None outside of notebooks."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from adjoint_client.notebook import progress_card

    ipython: Any = import_module("IPython.display")
    handle = ipython.display(ipython.HTML(""), display_id=True)

    def show(progress: Progress) -> None:
        handle.update(
            ipython.HTML(progress_card(bar_line(progress, _COLUMNS, bar=False), progress.step, progress.total_steps))
        )

    return show


def describe(progress: Progress) -> str:
    """One line: `running 120/500  epoch 3  loss 0.31  240 steps/s  2 s left`."""
    parts = [f"{progress.state} {progress.step}/{progress.total_steps}", f"epoch {progress.epoch}"]
    parts += [f"{name} {value:.4g}" for name, value in progress.values.items() if is_headline(name)]
    if progress.compiling is not None:
        parts.append(_rest(progress))
    elif not progress.terminal and progress.seconds_left is not None:
        parts += [f"{progress.rate:.4g} steps/s", f"{progress.seconds_left:.0f} s left"]
    return "  ".join(parts)


def bar_line(progress: Progress, width: int = _COLUMNS, *, bar: bool = True, label: str = "") -> str:
    """One line of at most `width` characters: bar, step, loss and time left, then what else there is room for.

    While the fit waits for kernels, how many of how many are compiled stands in place of the time left.

    Names of metrics are shortened before values are left out: `val_accuracy 0.93` becomes `val_acc 0.93`.
    """
    shown = {name: value for name, value in progress.values.items() if is_headline(name)}
    loss = [f"loss {shown.pop('loss'):.4g}"] if "loss" in shown else []
    needed = [f"{progress.step}/{progress.total_steps}", *loss, _rest(progress)]
    room = width - len("  ".join(needed))
    if bar:
        size = max(3, min(_SHORT_BAR_COLUMNS if shown else _BAR_COLUMNS, room - 3))
        done = round(size * progress.step / max(progress.total_steps, 1))
        needed = [f"[{'#' * min(done, size)}{'-' * (size - done)}] {needed[0]}", *needed[1:]]
    room = width - len("  ".join(needed))
    metrics = _fitting(shown, room)
    line = [*needed, *metrics]
    for extra in (label, "" if progress.terminal else progress.state, f"{progress.rate:.4g} steps/s"):
        if extra and len("  ".join([*line, extra])) <= width:
            line = [extra, *line] if extra is label else [*line, extra]
    return "  ".join(line)[:width]


def _rest(progress: Progress) -> str:
    """Return what remains to be done: the kernels to compile, or the time left; of a fit that has ended its state."""
    if progress.terminal:
        return progress.state
    if progress.compiling is not None:
        return "compiling {}/{}".format(*progress.compiling)
    return "ETA --:--" if progress.seconds_left is None else f"ETA {duration(progress.seconds_left)}"


def _fitting(values: Mapping[str, float], room: int) -> list[str]:
    """Return values with their names, shortened as far as needed, and then only as many as there is room for."""
    for letters in (_NAME_LETTERS, 8, 4, 3):
        texts = [f"{_shortened(name, letters)} {value:.4g}" for name, value in values.items()]
        if sum(len(text) + 2 for text in texts) <= room:
            return texts
    while texts and sum(len(text) + 2 for text in texts) > room:
        texts.pop()
    return texts


def _shortened(name: str, letters: int) -> str:
    return "_".join(part[:letters] for part in name.split("_"))


def duration(seconds: float) -> str:
    """A time as people write it: 0:07, 12:30, 1:02:03."""
    minutes, rest = divmod(max(0, math.ceil(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def is_headline(name: str) -> bool:
    """Whether people want to see the value called `name` while a fit runs."""
    return name not in ("lr", "momentum", "grad_norm")
