"""Our server: the same fit, asked for and watched over HTTP."""

from __future__ import annotations

import argparse
import atexit
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from adjoint_client import Client, FitHandle
from app.cli.demo.runner import running_server
from tests.benchmarks.families import Columns
from tests.benchmarks.protocol import Make, Missing, serve
from tests.benchmarks.starts import dataset, definition
from tests.benchmarks.workloads import CHECKED, Workload

ROWS = 20
"""Metric rows of a fit that is timed."""

NEVER = 10**6


class ServerFit:
    """A server with the pool as a dataset. Each measurement is a fit of its own."""

    version = ""
    numpy_steps = None

    def __init__(self, workload: Workload, client: Client) -> None:
        """Store graph and rows at the server of a client."""
        self.setting = "rows streamed"
        self._workload = workload
        self._client = client
        self._graph = self._client.graph(definition(workload).to_json())
        self._rows = self._client.upload(dataset(workload))
        self.estimate = 0.0
        """Seconds of a step, about; `losses` finds it."""

    def losses(self) -> list[float]:
        """Fit a few steps, and return the losses of some of them."""
        began = time.perf_counter()
        fit = self._fit(CHECKED[-1], every=1)
        fit.wait()
        self.estimate = (time.perf_counter() - began) / CHECKED[-1]
        losses = fit.losses()
        return [float(losses[step - 1]) for step in CHECKED]

    def seconds_per_step(self, seconds: float) -> float:
        """Time a fit from the arrival of its first row to that of its last."""
        while True:
            steps = max(2 * ROWS, round(seconds / self.estimate))
            every = min(100, steps // ROWS)
            events = self._fit(steps, every).watch()
            arrived = [(time.perf_counter(), event.data["step"]) for event in events if event.kind == "metric"]
            (start, first), (end, last) = arrived[0], arrived[-1]
            # Rows that arrive together make steps look shorter than they are: the next fit is at most 4 times as long.
            self.estimate = max((end - start) / (last - first), self.estimate / 4)
            if end - start > seconds / 4:
                return self.estimate

    def _fit(self, steps: int, every: int) -> FitHandle:
        seldom: dict[str, Any] = {"every_epochs": NEVER, "keep_last": 1}
        record = {"every_steps": every, "gradient_norms": False}
        return self._client.fit(
            self._graph, self._rows, **self._workload.recipe(steps=steps, record=record, checkpoint=seldom)
        )


def own_server() -> Client:
    """Return a client of a new server, which ends with this process."""
    running = ExitStack()
    atexit.register(running.close)
    folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
    settings = {"ADJOINT_WORKERS": "1", "ADJOINT_LOG_LEVEL": "warning"}
    return running.enter_context(Client(running.enter_context(running_server(folder, settings))))


def build(workload: Workload, weights: Columns, arguments: argparse.Namespace) -> list[Make]:
    """Offer a server as it comes."""
    if workload.copies > 1:
        raise Missing("a fit trains one model")
    return [lambda: ServerFit(workload, own_server())]


if __name__ == "__main__":
    serve(build)
