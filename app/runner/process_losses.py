"""Losses of session processes: a poison request that ends its process, or an external cause such as a kill.

A step is refused only if several processes in a row exited while they executed that step alone, and no other cause is
known. A process that was killed externally is restarted with backoff; after several losses in a row the client has to
retry.
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
from app.service.attempts.recorder import CRASHES, FOR_MEMORY, advice

SAME_CAUSE_SECONDS = 1.0
"""Processes that exit within this time of each other may have a common cause."""

POISON_LOSSES = 3
"""Processes that must be lost to the same step before it is refused."""

MAX_LOSSES = 6
"""After this many losses in a row waiting clients get an error; the next step tries again."""

BACKOFF_SECONDS = (0.0, 1.0, 2.0, 4.0, 8.0)
"""Delay from a loss to the next start, by the number of losses in a row.

From the second one on it is long enough to learn of other processes that exited at the same time.
"""

_EXITS_KEPT = 1024
_SMALLER = "give it fewer rows, or a micro_batch_size"


@dataclass(frozen=True, slots=True)
class ProcessLoss:
    """An unexpected exit of a session's process.

    Attributes:
        handle: the attempt.
        reason: the reason as a word.
        detail: the reason as a sentence.
        step: the id of the step that it was executing, if there was only one.
        overdue: whether the server killed it because the step took too long.
    """

    handle: Handle
    reason: str
    detail: str
    step: str | None
    overdue: bool


class ExitLog:
    """When processes of sessions and fits exited unexpectedly. Thread-safe."""

    def __init__(self) -> None:
        self._kept: deque[tuple[float, Handle]] = deque(maxlen=_EXITS_KEPT)
        self._with_server: deque[Handle] = deque(maxlen=_EXITS_KEPT)
        self._lock = threading.Lock()

    def note(self, handle: Handle, *, with_server: bool = False) -> None:
        """Record that a process has exited now; `with_server`: because its fork server did."""
        with self._lock:
            self._kept.append((time.monotonic(), handle))
            if with_server:
                self._with_server.append(handle)

    def shared_cause(self, handle: Handle) -> bool:
        """Whether other processes exited at the same time as this one."""
        with self._lock:
            with_server = handle in self._with_server
        return with_server or self.others(handle) > 0

    def others(self, handle: Handle) -> int:
        """Return how many other processes exited at the same time as this one."""
        with self._lock:
            moment = next((at for at, ended in self._kept if ended == handle), None)
            return sum(
                moment is not None and ended.owner_id != handle.owner_id and abs(at - moment) <= SAME_CAUSE_SECONDS
                for at, ended in self._kept
            )


class LossPolicy:
    """Decides what the losses of a session since its last reply mean, given in order."""

    def __init__(
        self,
        ends: ExitLog,
        step_seconds: float,
        backoff_seconds: Sequence[float] = BACKOFF_SECONDS,
        kills: Callable[[], int | None] = memory_kills,
    ) -> None:
        """Read other exits from `ends`; `kills`: whether the system counts OOM kills."""
        self._ends = ends
        self._step_seconds = step_seconds
        self._backoff_seconds = backoff_seconds
        self._kills = kills

    def backoff_seconds(self, losses: Sequence[ProcessLoss]) -> float:
        """Return the delay until the next process is started."""
        if not losses or losses[-1].overdue:
            return 0.0
        return self._backoff_seconds[min(len(losses), len(self._backoff_seconds)) - 1]

    def poison(self, losses: Sequence[ProcessLoss]) -> Poison | None:
        """Return the step that is not tried again, if the last loss is one too many of that step."""
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
            f"{count} processes of the session ended while they executed this step and no other, the last one: "
            f"{last.detail}; it is not tried again{': ' + _SMALLER if starved else ''}"
        )
        return Poison(last.step, starved, detail)

    def refuse_waiting(self, losses: Sequence[ProcessLoss]) -> ProcessLost | None:
        """Return the error for waiting clients after too many losses for which no step is to blame."""
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
        """Whether it is known that the step did not cause the exit."""
        if loss.reason == "node_lost":
            return True
        return self._ends.shared_cause(loss.handle) or (loss.reason == "killed" and self._kills() is not None)
