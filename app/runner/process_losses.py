"""What the loss of a session's processes means: a step that ends its process, or somebody who kills processes.

A step is refused only if process after process ended while it carried out that step alone, and no other cause is known.
What was killed from outside is started again, after a while, and after several times the client is to try again later.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.errors import ProcessLost
from app.domain.messages import Poison
from app.runner.port import Handle
from app.runner.process_status import memory_kills
from app.service.attempts.crashes import CRASHES, FOR_MEMORY, advice

SAME_CAUSE_SECONDS = 1.0
"""Processes that end within such a time of each other may have ended of one cause."""

POISON_LOSSES = 3
"""So many processes die of a step before it is refused."""

MAX_LOSSES = 6
"""After so many processes that die in a row nobody waits any longer; the next step is another try."""

BACKOFF_SECONDS = (0.0, 1.0, 2.0, 4.0, 8.0)
"""How long it takes from a loss to the next start, by the number of losses in a row.

From the second one on it is long enough to learn of others that ended at the same time.
"""

_EXITS_KEPT = 1024
_SMALLER = "give it fewer rows, or a micro_batch_size"


@dataclass(frozen=True, slots=True)
class ProcessLoss:
    """A process that died without being asked to go.

    Attributes:
        handle: which one.
        reason: of its death, in a word.
        detail: the same in a sentence.
        step: the id of the step that it carried out, if it had only one.
        overdue: whether it was killed here because the step took too long.
    """

    handle: Handle
    reason: str
    detail: str
    step: str | None
    overdue: bool


class ExitLog:
    """When processes of sessions and fits ended that nobody here had asked to go. Safe in threads."""

    def __init__(self) -> None:
        self._kept: deque[tuple[float, Handle]] = deque(maxlen=_EXITS_KEPT)
        self._with_server: deque[Handle] = deque(maxlen=_EXITS_KEPT)
        self._lock = threading.Lock()

    def note(self, handle: Handle, *, with_server: bool = False) -> None:
        """Note that a process has ended now; `with_server`: since the process that it was forked from did."""
        with self._lock:
            self._kept.append((time.monotonic(), handle))
            if with_server:
                self._with_server.append(handle)

    def shared_cause(self, handle: Handle) -> bool:
        """Tell whether processes of others ended at the time when this one did, or would have."""
        with self._lock:
            with_server = handle in self._with_server
        return with_server or self.others(handle) > 0

    def others(self, handle: Handle) -> int:
        """Return how many processes of others ended at the time when this one did."""
        with self._lock:
            moment = next((at for at, ended in self._kept if ended == handle), None)
            return sum(
                moment is not None and ended.owner_id != handle.owner_id and abs(at - moment) <= SAME_CAUSE_SECONDS
                for at, ended in self._kept
            )


class LossPolicy:
    """Judges the losses of a session, in their order, since its last answer."""

    def __init__(
        self,
        ends: ExitLog,
        step_seconds: float,
        backoff_seconds: Sequence[float] = BACKOFF_SECONDS,
        kills: Callable[[], int | None] = memory_kills,
    ) -> None:
        """Know of others by `ends`, and by `kills` whether the system counts whom it kills for want of memory."""
        self._ends = ends
        self._step_seconds = step_seconds
        self._backoff_seconds = backoff_seconds
        self._kills = kills

    def backoff_seconds(self, losses: Sequence[ProcessLoss]) -> float:
        """Return after how many seconds the next process is to be started."""
        if not losses or losses[-1].overdue:
            return 0.0
        return self._backoff_seconds[min(len(losses), len(self._backoff_seconds)) - 1]

    def poison(self, losses: Sequence[ProcessLoss]) -> Poison | None:
        """Return the step that is not to be tried again, if the last process died of one that others died of."""
        last = losses[-1] if losses else None
        if last is None or last.step is None:
            return None
        if last.overdue:
            detail = (
                f"the step took longer than {self._step_seconds:g} seconds (ADJOINT_STEP_SECONDS), and its process was "
                "killed; it is not tried again: give it less to do"
            )
            return Poison(last.step, starved=False, detail=detail)
        count = sum(loss.step == last.step and not self._has_external_cause(loss) for loss in losses)
        if count < POISON_LOSSES or self._has_external_cause(last):
            return None
        starved = last.reason in FOR_MEMORY
        detail = (
            f"{count} processes of the session ended while they carried out this step and no other, the last one: "
            f"{last.detail}; it is not tried again{': ' + _SMALLER if starved else ''}"
        )
        return Poison(last.step, starved, detail)

    def refuse_waiting(self, losses: Sequence[ProcessLoss]) -> ProcessLost | None:
        """Return the answer to those who wait if they have waited for enough processes, and no step is to blame."""
        if len(losses) < MAX_LOSSES or self.poison(losses) is not None:
            return None
        last = losses[-1]
        others = self._ends.others(last.handle)
        beside = f", and {others} processes of other sessions and fits ended in the same second" if others else ""
        return ProcessLost(
            f"{len(losses)} processes of the session died in a row, the last one: {last.detail}{beside}; "
            f"{advice(last.reason if last.reason in CRASHES else 'error', 'send the step again')}"
        )

    def _has_external_cause(self, loss: ProcessLoss) -> bool:
        """Tell whether it is known that the process did not die of what it did."""
        return self._ends.shared_cause(loss.handle) or (loss.reason == "killed" and self._kills() is not None)
