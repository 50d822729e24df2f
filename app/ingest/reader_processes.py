"""Keeps a process that has loaded what reading takes, so that an upload need not wait until one has."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Thread

from app.ingest.exchange import Process, end_process

IDLE_SECONDS = 30.0
"""How long a process is kept for the next upload."""

_logger = logging.getLogger(__name__)


class ReaderProcesses:
    """At most one process that waits for a request, and serves one after another.

    It is started by a thread that lasts: processes that read are killed when the thread that started them ends. After a
    request that failed it is ended: the forks of a process have the same addresses, and a file that makes one crash
    shall learn nothing about the next.
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

    @contextmanager
    def take(self) -> Iterator[Process]:
        """Provide a process that waits for a request, or one that is started for it; OSError if none can be.

        The one that has waited does so again, unless the block raises an error.
        """
        process = self._take_waiting()
        if process is None:
            process = self._start()
            try:
                yield process
            finally:
                end_process(process)
            return
        try:
            yield process
        except BaseException:
            end_process(process)
            raise
        self._give_back(process)

    def _take_waiting(self) -> Process | None:
        with self._changed:
            process, self._waiting = self._waiting, None
            self._wanted = False
            self._changed.notify()
        if process is None or process.poll() is None:
            return process
        end_process(process)
        return None

    def _give_back(self, process: Process) -> None:
        with self._changed:
            if self._waiting is None and not self._closed:
                self._waiting = process
                self._changed.notify()
                return
        end_process(process)

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
            end_process(process)
