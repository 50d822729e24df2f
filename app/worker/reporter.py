"""Reports of a worker: metric rows in small batches; checkpoints and captured gradients as files to be imported."""

import hashlib
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

import engine
from app.domain.errors import StorageFull, storage_faults
from app.domain.fit import WAITS_FOR_STORAGE
from app.domain.frames import to_line
from app.domain.messages import About, CheckpointWritten, GradientWritten, Heartbeat, Log, Message, MetricRows, Phase
from app.system.durable import Durable, HashingWriter
from app.worker.checkpoint_scheduler import PendingCheckpoint
from app.worker.control import EXIT_SERVER_GONE


def write_gradient(durable: Durable, gradient: engine.CapturedGradient, path: Path) -> GradientWritten:
    """Write a captured gradient to `path` as .npy, and return its message.

    bfloat16, which the format lacks, is converted to float32. StorageFull or StorageFailed if it cannot be written.
    """
    array = gradient.array if gradient.array.dtype.name != "bfloat16" else gradient.array.astype(np.float32)
    partial = path.with_suffix(".partial")
    with storage_faults("a captured gradient"), removed_on_error(partial):
        with durable.create(partial) as file:
            hashed = HashingWriter(file)
            np.lib.format.write_array(hashed, array, allow_pickle=False)
            file.sync()
        durable.rename(partial, path)
    return GradientWritten(
        path=str(path),
        step=gradient.step,
        parameter=gradient.name,
        dtype=array.dtype.name,
        shape=list(array.shape),
        digest=hashed.digest,
        size_bytes=hashed.size,
    )


@contextmanager
def removed_on_error(path: Path) -> Iterator[None]:
    """Delete the unfinished file at `path` if the block raises, to free its disk space."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise


ROWS_SECONDS = 0.05
"""How long rows are collected before they are sent. The first one is sent at once."""

POSITION_SECONDS = 1.0
"""How often the step is reported while no row is recorded."""


HEARTBEAT_SECONDS = 2.0
"""Interval of heartbeats while nothing else is sent."""


class Reporter:
    """Sends messages to the server, in order; safe to use from the threads of the fit and of the control.

    Blocks if the server does not keep up, which slows the fit down. Exits if the server is gone.
    """

    def __init__(
        self,
        channel: socket.socket,
        fit_id: str | None = None,
        lock: "threading.RLock | None" = None,
        durable: Durable | None = None,
    ) -> None:
        """Send over `channel`, about the assignment or its variant `fit_id`; `lock` is of all that use the channel."""
        self._channel = channel
        self._fit_id = fit_id
        self._lock = lock or threading.RLock()
        self.durable = durable or Durable()
        """Through which checkpoints are written."""
        self._variants: dict[str, Reporter] = {}
        self._rows: list[str] = []
        self._position: MetricRows | None = None
        self._sent_at = float("-inf")
        self.last_sent_at = time.monotonic()
        """When something was sent last."""

    @contextmanager
    def for_variant(self, fit_id: str) -> Iterator["Reporter"]:
        """Yield a reporter for a variant of the sweep, over the same channel, for the length of the block."""
        variant = Reporter(self._channel, fit_id, self._lock, self.durable)
        with self._lock:
            self._variants[fit_id] = variant
        try:
            yield variant
        finally:
            with self._lock:
                variant.flush()
                del self._variants[fit_id]

    def flush(self) -> None:
        """Send pending rows."""
        with self._lock:
            self._send_metric_rows()

    def send(self, message: Message) -> None:
        """Send `message` after the pending rows."""
        with self._lock:
            self._send_metric_rows()
            self._send(message)

    def report_step(self, fit: engine.Fit, rows: Sequence[engine.MetricRow]) -> None:
        """Report the rows of a step, and the position of the fit after it."""
        rows_as_json = [row.to_json() for row in rows]
        with self._lock:
            self._rows += rows_as_json
            self._position = MetricRows([], fit.step, fit.epoch, dict(fit.latest), fit.best)
            if self._overdue():
                self._send_metric_rows()

    def flush_overdue(self) -> None:
        """Send rows that have waited long enough, or else a heartbeat: the next step may take long."""
        # Do not wait for the lock: its holder may be blocked by the server, and this thread must keep reading messages.
        if self._lock.acquire(blocking=False):
            try:
                if self._may_send():
                    self.send_overdue()
                    self._send_heartbeat()
            finally:
                self._lock.release()

    def send_overdue(self) -> None:
        """Send rows that have waited long enough, also those of variants; the lock must be held."""
        if self._overdue():
            self._send_metric_rows()
        for variant in self._variants.values():
            variant.send_overdue()

    def _send_heartbeat(self) -> None:
        last_sent_at = max(reporter.last_sent_at for reporter in (self, *self._variants.values()))
        if time.monotonic() - last_sent_at >= HEARTBEAT_SECONDS:
            self._send(Heartbeat())

    def _may_send(self) -> bool:
        """Whether sending would not block. If it would, the server has messages to read and needs no heartbeat."""
        return bool(select.select([], [self._channel], [], 0)[1])

    def write_checkpoint(self, staging: Path, pending: PendingCheckpoint) -> None:
        """Write a checkpoint to `staging`; it is complete and synced when it is reported.

        StorageFull or StorageFailed if it cannot be written; it is not reported then.
        """
        # After a rollback a step number repeats, a row number does not.
        path = staging / f"step-{pending.step}-{pending.seq}.safetensors"
        unfinished = path.with_suffix(".partial")
        with storage_faults("the checkpoint"), removed_on_error(unfinished):
            with self.durable.create(unfinished) as file:
                pending.checkpoint.write(file)
                file.sync()
            # The directory is not synced: the server imports the file and syncs it. What a crash leaves is deleted.
            self.durable.rename(unfinished, path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        self.send(
            CheckpointWritten(
                path=str(path),
                step=pending.step,
                epoch=pending.epoch,
                metric_seq=pending.seq,
                metrics=pending.metrics,
                digest=digest,
                size_bytes=size,
                is_best=pending.is_best,
            )
        )

    def write_gradients(
        self,
        fit: engine.Fit,
        staging: Path,
        run: Callable[[Callable[[], GradientWritten]], GradientWritten] | None = None,
    ) -> None:
        """Write the gradients that the last steps of `fit` captured to files in `staging`, each by means of `run`."""
        for place, gradient in enumerate(fit.captured):
            # After a rollback a step is captured again; the server may not have imported the first file yet.
            path = staging / f"gradient-{gradient.step}-{fit.seq}-{place}.npy"
            write = partial(write_gradient, self.durable, gradient, path)
            self.send(write() if run is None else run(write))

    def _overdue(self) -> bool:
        patience = ROWS_SECONDS if self._rows else POSITION_SECONDS
        return time.monotonic() - self._sent_at >= patience

    def _send_metric_rows(self) -> None:
        if self._position is None:
            return
        position, self._position = self._position, None
        rows, self._rows = self._rows, []
        self._send(MetricRows(rows, position.step, position.epoch, position.latest, position.best))
        self._sent_at = time.monotonic()

    def _send(self, message: Message) -> None:
        message = message if self._fit_id is None else About(self._fit_id, message)
        try:
            self._channel.sendall(to_line(message))
        except OSError:
            os._exit(EXIT_SERVER_GONE)
        self.last_sent_at = time.monotonic()


class CompilationReport:
    """Reports that a fit or a session waits for kernels to be compiled: its phase, and a log entry now and then."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._next = 0.0

    def update(self, count: int, total: int) -> None:
        """Report that `count` of `total` kernels are compiled; see `engine.report_compilation`."""
        now = time.monotonic()
        if count == 0:
            self._reporter.send(Phase("compiling"))
        if count in (0, total) or now >= self._next:
            self._next = now + COMPILATION_SECONDS
            text = f"{count} of {total} kernels are compiled; they are kept on disk for later use"
            self._reporter.send(Log("info", text, "compiling", count, total))
        if count == total:
            self._reporter.send(Phase("training"))


T = TypeVar("T")

COMPILATION_SECONDS = 2.0
"""Minimum interval between log entries about the kernels that are waited for."""
RETRY_SECONDS = 1.0
TICK_SECONDS = 0.05


class StorageRetry:
    """Retries writes while the disk is full. The fit waits, so its numbers do not change."""

    def __init__(self, reporter: Reporter, is_stopping: Callable[[], bool]) -> None:
        """Report over `reporter`; give up once `is_stopping`."""
        self._reporter = reporter
        self._is_stopping = is_stopping

    def run(self, write: Callable[[], T]) -> T:
        """Call `write` until there is disk space, and return its result; it must leave nothing behind if it raises.

        StorageFull once the fit should stop: it resumes from its last checkpoint. Other errors are raised.
        """
        waiting = False
        while True:
            try:
                written = write()
            except StorageFull as error:
                if self._is_stopping():
                    raise
                if not waiting:
                    self._report(error)
                waiting = True
                self._wait()
            else:
                if waiting:
                    self._reporter.send(Phase("training"))
                return written

    def _report(self, error: StorageFull) -> None:
        text = f"the fit is waiting for disk space: {error.detail}"
        self._reporter.send(Log("warning", text, error.code))
        self._reporter.send(Phase(WAITS_FOR_STORAGE))

    def _wait(self) -> None:
        """Wait for the next retry, or until the fit should stop."""
        end = time.monotonic() + RETRY_SECONDS
        while time.monotonic() < end and not self._is_stopping():
            time.sleep(TICK_SECONDS)
