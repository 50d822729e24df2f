"""The progress of a fit: a live bar on a terminal, a plain line every few seconds elsewhere."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from adjoint_client.progress import Progress, Show, bar_line, describe

_LINE_EVERY_SECONDS = 2.0


@contextmanager
def shown(console: Console, label: str) -> Iterator[Show]:
    """Show the progress of one fit, called `label`, within the context; yields the function that reports to it."""
    if not console.is_terminal:
        yield _lines(console, label)
        return
    line = _BarLine(label)
    with Live(line, console=console):
        yield line.show


class _BarLine:
    """The progress of one fit as a line that fits the terminal, also once its size changes."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._progress: Progress | None = None

    def show(self, progress: Progress) -> None:
        self._progress = progress

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        line = self._label if self._progress is None else bar_line(self._progress, width, label=self._label)
        yield Text(line, no_wrap=True, overflow="crop")


def _lines(console: Console, label: str, clock: Callable[[], float] = time.monotonic) -> Show:
    due = -math.inf

    def show(progress: Progress) -> None:
        nonlocal due
        if clock() >= due or progress.terminal:
            due = clock() + _LINE_EVERY_SECONDS
            console.print(f"{label} {describe(progress)}", markup=False, highlight=False, soft_wrap=True)

    return show
