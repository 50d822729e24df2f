"""What the fork server does while it is idle, so that the workers that it forks later need not: it loads kernels, the
common ones and those that workers report to have loaded, and derives what the engine derives once in a process. Then it
moves its memory to huge pages, which makes forks cheaper. Workers report the fits that they have run too.
"""

import contextlib
import socket
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

import engine
from app.domain.errors import BadMessage
from app.domain.messages import Assignment
from app.domain.runtime import NATIVE
from app.system.huge_pages import collapse_heap
from app.worker.last_fit import describe_fit, is_alike

DATAGRAM_BYTES = 1 << 16

LOADED_MAX = 128
"""Kernels that are loaded for workers besides the common ones: 0.2 MB each."""

FITS_MAX = 4
"""Fits, the last ones that differ, which a worker that waits begins: 0.02 to 0.1 s each."""

REPORT_SECONDS = 1.0

_CATALOGUES = (
    engine.initializer_catalogue,
    engine.layer_catalogue,
    engine.loss_catalogue,
    engine.metric_catalogue,
    engine.optimizer_catalogue,
    engine.schedule_catalogue,
    engine.transform_catalogue,
)

_NETWORK = {
    "inputs": {"x": ["batch", 2], "y": {"shape": ["batch"], "dtype": "int64"}},
    "parameters": {"w": [2, 2], "c": [2]},
    "program": "scores = relu(x @ w + c)\nloss = mean(cross_entropy(scores, y))",
}
_RECIPE = {"optimizer": {"kind": "adam", "lr": 0.01}, "steps": 1, "batch_size": 4, "seed": 1}


def train_once() -> None:
    """Train a small network for a step: the tables of ops, options and optimizers are made at their first use.

    The process has no more threads than before.
    """
    columns: dict[str, np.ndarray[Any, Any]] = {"x": np.ones((8, 2), np.float32), "y": np.zeros(8, np.int64)}
    graph, recipe = engine.parse_graph(_NETWORK), engine.read_recipe(_RECIPE)
    with contextlib.closing(engine.Fit(graph, recipe, columns, execution=engine.Execution(threads=1))) as fit:
        fit.advance()


class WorkerReporter:
    """The end of a worker. It does not wait for the fork server: a report that there is no room for is dropped."""

    def __init__(self, channel: socket.socket | None, last_fits: Sequence[bytes] = ()) -> None:
        """Report on `channel` what is loaded from now on, and fits unlike the last ones; None: to nobody."""
        self._channel = channel
        self._last_fits = last_fits
        self._reported = engine.loaded_kernels()
        self._due_at = 0.0

    def report_if_due(self) -> None:
        """Report if that was not done for a second."""
        if time.monotonic() >= self._due_at:
            self.report()
            self._due_at = time.monotonic() + REPORT_SECONDS

    def report(self) -> None:
        """Report the kernels that were loaded since the last time."""
        new = engine.loaded_kernels() - self._reported
        if not new:
            return
        self._reported |= new
        self._send("\n".join(new).encode())

    def report_fit(self, assignment: Assignment) -> None:
        """Report a fit that has run, if it can be begun again and none of the last ones was like it."""
        description = describe_fit(assignment)
        if description is not None and not any(is_alike(last, description) for last in self._last_fits):
            self._send(description)

    def _send(self, report: bytes) -> None:
        if self._channel is not None:
            with contextlib.suppress(OSError):
                self._channel.send(report, socket.MSG_DONTWAIT)


class WarmUp:
    """The end of the fork server, which takes one step at a time while no worker is to be forked."""

    def __init__(self) -> None:
        """Do nothing yet; workers report on `reporting` from the start."""
        self.reports, self.reporting = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._steps: Iterator[None] = iter(())
        self._room = 0
        self.is_idle = True
        """Whether there is nothing to do."""
        self.last_fits: tuple[bytes, ...] = ()
        """Descriptions of the fits that workers have reported last."""

    def start(self) -> None:
        """Load the common kernels, train once, prepare ops and options, and load what workers report.

        The compiler has to be loaded. What is in memory by then moves to huge pages, for all forks.
        """
        prepared = (engine.prepare_ops(), _read_options())
        self._steps = chain(engine.load_kernels(), _train_once(), *prepared, collapse_heap())
        self._room, self.is_idle = LOADED_MAX, False

    def receive(self) -> None:
        """Read the report of a worker."""
        report = self.reports.recv(DATAGRAM_BYTES)
        if report.startswith(b"{"):
            self._keep_fit(report)
            return
        loaded = engine.loaded_kernels()
        names = report.decode().split("\n")
        new = [name for name in names if name not in loaded][: self._room]
        self._room -= len(new)
        self._steps = chain(self._steps, engine.load_kernels(new))
        self.is_idle = False

    def _keep_fit(self, description: bytes) -> None:
        """Keep the description of a fit. Workers that ran at the same time may report the same."""
        with contextlib.suppress(BadMessage):
            if not any(is_alike(last, description) for last in self.last_fits):
                self.last_fits = (*self.last_fits, description)[-FITS_MAX:]

    def take_step(self) -> None:
        """Do the next of it. An error of the compiler is raised, and ends it: workers do all of it themselves."""
        try:
            next(self._steps)
        except StopIteration:
            self.is_idle = True
        except Exception:
            self.is_idle, self._room = True, 0
            raise


def _train_once() -> Iterator[None]:
    train_once()
    yield
    engine.fingerprint(NATIVE)
    yield


def _read_options() -> Iterator[None]:
    """Read the options of everything that graphs and recipes name off its annotations."""
    for describe in _CATALOGUES:
        describe()
        yield
