"""What a worker tells the server: rows in small batches, and checkpoints as files in its staging folder."""

import hashlib
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import engine
from app.domain.messages import About, CheckpointWritten, GradientWritten, Heartbeat, Message, Points
from app.domain.storage_faults import storage_faults
from app.domain.wire import to_line
from app.system.durable import Durable
from app.worker.captures import removed_on_error, write_gradient
from app.worker.control import ORPHANED
from app.worker.keeping import Taken

ROWS_SECONDS = 0.05
"""How long rows may gather. The first one goes at once."""

STANDING_SECONDS = 1.0
"""How long the server may not know the step, where no row is recorded."""


HEARTBEAT_SECONDS = 2.0
"""How long the server may hear nothing at all."""


class Recorder:
    """Sends to the server, in order; safe to use from the fit's thread and the control's.

    Blocks when the server does not keep up, which holds the fit back. Ends the process if the server is gone.
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
        self._parts: dict[str, Recorder] = {}
        self._rows: list[str] = []
        self._standing: Points | None = None
        self._sent_at = float("-inf")
        self.said_at = time.monotonic()
        """When something was sent last."""

    @contextmanager
    def about(self, fit_id: str) -> Iterator["Recorder"]:
        """Yield one that tells of a variant of the sweep, over the same channel, for the length of the block."""
        part = Recorder(self._channel, fit_id, self._lock, self.durable)
        with self._lock:
            self._parts[fit_id] = part
        try:
            yield part
        finally:
            with self._lock:
                part.flush()
                del self._parts[fit_id]

    def flush(self) -> None:
        """Send the rows that wait."""
        with self._lock:
            self._send_points()

    def send(self, message: Message) -> None:
        """Send `message`, after the rows that were added before it."""
        with self._lock:
            self._send_points()
            self._send(message)

    def add(self, fit: engine.Fit, points: Sequence[engine.Point]) -> None:
        """Take the rows of a step, and where the fit stands after it."""
        rows = [point.to_json() for point in points]
        with self._lock:
            self._rows += rows
            self._standing = Points([], fit.step, fit.epoch, dict(fit.latest), fit.best)
            if self._overdue():
                self._send_points()

    def flush_overdue(self) -> None:
        """Send rows that waited long enough, or else a sign of life, for when the next step takes its time."""
        # Not waiting for the lock: its holder may be waiting for the server, and a control message must get through.
        if self._lock.acquire(blocking=False):
            try:
                if self._may_send():
                    self.send_overdue()
                    self._send_sign_of_life()
            finally:
                self._lock.release()

    def send_overdue(self) -> None:
        """Send rows that waited long enough, also those of variants; the lock must be held."""
        if self._overdue():
            self._send_points()
        for part in self._parts.values():
            part.send_overdue()

    def _send_sign_of_life(self) -> None:
        said_at = max(recorder.said_at for recorder in (self, *self._parts.values()))
        if time.monotonic() - said_at >= HEARTBEAT_SECONDS:
            self._send(Heartbeat())

    def _may_send(self) -> bool:
        """Whether the server keeps up; one that does not will look here again, and needs no sign of life before."""
        return bool(select.select([], [self._channel], [], 0)[1])

    def checkpoint(self, staging: Path, taken: Taken) -> None:
        """Write a checkpoint to a file in `staging` that is complete and on the disk when it is announced.

        StorageFull or StorageFailed if it cannot be: it is not announced then.
        """
        # A fit that goes back comes by a step again, but by no row.
        path = staging / f"step-{taken.step}-{taken.seq}.safetensors"
        unfinished = path.with_suffix(".partial")
        with storage_faults("the checkpoint"), removed_on_error(unfinished):
            with self.durable.create(unfinished) as file:
                taken.checkpoint.write(file)
                file.sync()
            # The folder is not synced: a file counts once the server has taken it from here and synced where it is
            # then. What a crash leaves here is cleared away.
            self.durable.rename(unfinished, path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        self.send(
            CheckpointWritten(
                path=str(path),
                step=taken.step,
                epoch=taken.epoch,
                metric_seq=taken.seq,
                metrics=taken.metrics,
                digest=digest,
                size_bytes=size,
                is_best=taken.is_best,
            )
        )

    def gradients(
        self,
        fit: engine.Fit,
        staging: Path,
        run: Callable[[Callable[[], GradientWritten]], GradientWritten] | None = None,
    ) -> None:
        """Write the gradients that the last steps of `fit` captured to files in `staging`, each by means of `run`."""
        for place, gradient in enumerate(fit.captured):
            # A fit that goes back captures a step again; the first file may still be waiting for the server.
            path = staging / f"gradient-{gradient.step}-{fit.seq}-{place}.npy"
            write = partial(write_gradient, self.durable, gradient, path)
            self.send(write() if run is None else run(write))

    def _overdue(self) -> bool:
        patience = ROWS_SECONDS if self._rows else STANDING_SECONDS
        return time.monotonic() - self._sent_at >= patience

    def _send_points(self) -> None:
        if self._standing is None:
            return
        standing, self._standing = self._standing, None
        rows, self._rows = self._rows, []
        self._send(Points(rows, standing.step, standing.epoch, standing.latest, standing.best))
        self._sent_at = time.monotonic()

    def _send(self, message: Message) -> None:
        message = message if self._fit_id is None else About(self._fit_id, message)
        try:
            self._channel.sendall(to_line(message))
        except OSError:
            os._exit(ORPHANED)
        self.said_at = time.monotonic()
