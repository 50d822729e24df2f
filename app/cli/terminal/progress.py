"""The progress of a fit: a live bar on a terminal, a plain line every few seconds elsewhere."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from adjoint_client.progress import Progress as FitProgress
from adjoint_client.progress import Show, describe, is_headline

_LINE_EVERY_SECONDS = 2.0


@contextmanager
def shown(console: Console, label: str) -> Iterator[Show]:
    """Show the progress of one fit, called `label`, within the context; yields the function that reports to it."""
    if not console.is_terminal:
        yield _lines(console, label)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[values]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console) as bars:
        yield _bar(bars, bars.add_task(label, total=None, values="", rate=""), label)


def _bar(bars: Progress, task: TaskID, label: str) -> Show:
    def show(progress: FitProgress) -> None:
        bars.update(
            task,
            description=f"{label} {progress.state}",
            completed=progress.step,
            total=progress.total_steps,
            values=_values(progress),
            rate=f"{progress.rate:.0f} steps/s",
        )

    return show


def _lines(console: Console, label: str, clock: Callable[[], float] = time.monotonic) -> Show:
    due = -math.inf

    def show(progress: FitProgress) -> None:
        nonlocal due
        if clock() >= due or progress.terminal:
            due = clock() + _LINE_EVERY_SECONDS
            console.print(f"{label} {describe(progress)}", markup=False, highlight=False, soft_wrap=True)

    return show


def _values(progress: FitProgress) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in progress.values.items() if is_headline(name))
