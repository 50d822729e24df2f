"""Keeps a process that has loaded what reading takes, so that an upload need not wait until one has."""

import logging
import subprocess
from collections.abc import Callable
from threading import Condition, Thread

IDLE_SECONDS = 30.0
"""How long a process is kept for the next upload."""

Process = subprocess.Popen[bytes]

_logger = logging.getLogger(__name__)


class ReaderProcesses:
    """At most one process that waits for a request. Each one serves one request, as those without this class do.

    It is started by a thread that lasts: processes that read are killed when the thread that started them ends.
    """

    def __init__(self, start: Callable[[], Process], idle_seconds: float = IDLE_SECONDS) -> None:
        """Start processes by `start`, and end one that has waited for `idle_seconds`."""
        self._start = start
        self._idle_seconds = idle_seconds
        self._changed = Condition()
        self._waiting: Process | None = None
        self._wanted = False
        self._closed = False
        self._thread: Thread | None = None

    def prepare(self) -> None:
        """Start a process if none waits, else keep that one for longer; do not wait for it."""
        with self._changed:
            if self._closed:
                return
            self._wanted = self._waiting is None
            if self._thread is None:
                self._thread = Thread(target=self._keep, name="reader processes", daemon=True)
                self._thread.start()
            self._changed.notify()

    def take(self) -> Process:
        """Return a process that waits for a request, or one that has just been started; OSError if none can be."""
        with self._changed:
            process, self._waiting = self._waiting, None
            self._wanted = False
            self._changed.notify()
        if process is not None:
            if process.poll() is None:
                return process
            _end(process)
        return self._start()

    def close(self) -> None:
        """End the process that waits; start none from now on."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _keep(self) -> None:
        with self._changed:
            while not self._closed:
                if self._waiting is None and self._wanted:
                    self._wanted = False
                    self._waiting = self._started()
                elif not self._changed.wait(None if self._waiting is None else self._idle_seconds):
                    self._end_waiting()
            self._end_waiting()

    def _started(self) -> Process | None:
        try:
            return self._start()
        except OSError as error:  # the next upload tries again, and reports the error
            _logger.warning("no process to read uploads can be started: %s", error)
            return None

    def _end_waiting(self) -> None:
        process, self._waiting = self._waiting, None
        if process is not None:
            _end(process)


def _end(process: Process) -> None:
    with process:
        process.kill()
