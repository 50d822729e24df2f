"""What a worker does about a full disk: it waits until its files can be written, and goes on as if nothing had been."""

import time
from collections.abc import Callable
from typing import TypeVar

from app.domain.errors import StorageFull
from app.domain.fit import WAITS_FOR_STORAGE
from app.domain.messages import Log, Phase
from app.worker.recorder import Recorder

T = TypeVar("T")

RETRY_SECONDS = 1.0
TICK_SECONDS = 0.05


class StorageWait:
    """Repeats what finds no room. The fit stands still meanwhile, so it comes to the same bits."""

    def __init__(self, recorder: Recorder, is_stopping: Callable[[], bool]) -> None:
        """Report over `recorder`; do not wait any longer once `is_stopping`."""
        self._recorder = recorder
        self._is_stopping = is_stopping

    def run(self, write: Callable[[], T]) -> T:
        """Call `write`, which leaves nothing behind where it raises, until it finds room, and return its result.

        StorageFull once the fit is to stop: then it goes on from its last checkpoint. Other errors are passed on.
        """
        waits = False
        while True:
            try:
                written = write()
            except StorageFull as error:
                if self._is_stopping():
                    raise
                if not waits:
                    self._report(error)
                waits = True
                self._wait()
            else:
                if waits:
                    self._recorder.send(Phase("training"))
                return written

    def _report(self, error: StorageFull) -> None:
        text = f"the fit waits until there is room for what it has to write: {error.detail}"
        self._recorder.send(Log("warning", text, error.code))
        self._recorder.send(Phase(WAITS_FOR_STORAGE))

    def _wait(self) -> None:
        """Wait a while, or until the fit is to stop."""
        end = time.monotonic() + RETRY_SECONDS
        while time.monotonic() < end and not self._is_stopping():
            time.sleep(TICK_SECONDS)
