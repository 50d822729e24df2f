"""What one session has to do, and which process does it, in the event loop."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from app.domain.errors import AdjointError, SessionsFull
from app.domain.frames import Accepted, Answered, Attach, Step
from app.domain.messages import Failed, Finished
from app.runner.port import Handle
from app.runner.session_line import SessionLine
from app.runner.session_losses import Loss
from app.service.sessions.session_workforce import SessionStatus

STEPS_MAX = 256
"""Steps of a session that may wait for their answers."""

PostState = Literal["queued", "starting", "ready", "stopping"]
Answer = tuple[Answered | Accepted, bytes]


@dataclass(eq=False, slots=True)
class Waiting:
    """A step whose answer somebody waits for."""

    step: Step
    body: bytes
    answer: "asyncio.Future[Answer]"

    @property
    def seq(self) -> int | None:
        """The place that the step is to take, a batch's first one; None for the next."""
        if self.step.seq is None and self.step.verb == "batch":
            steps: list[dict[str, Any]] = self.step.options.get("steps") or [{}]
            return steps[0].get("seq")
        return self.step.seq


@dataclass(eq=False, slots=True)
class Post:
    """A session's steps that wait, and its process.

    Attributes:
        memory_bytes: what its process takes of the memory.
        state: of the process; "queued" while it waits for room, None while none is wanted.
        waiting: steps whose answers are waited for, in the order of their arrival.
        flying: ids of the steps that the process has and has not answered, in the order in which it got them; those
            that it has accepted are among them, though nobody waits for them here.
        again: those of the waiting steps that a process had when it was lost.
        verdict: what the process has said last of itself, if it has.
        standing: where the session was when its process last said so.
        losses: processes that died one after another without any answer.
        suspect: the step that the last one died of, if it had only one.
        overdue: whether the process is killed because a step takes too long.
        ended: whether the session is over.
    """

    session_id: str
    memory_bytes: int = 0
    state: PostState | None = None
    waiting: dict[str, Waiting] = field(default_factory=dict)
    waiting_bytes: int = 0
    flying: dict[str, None] = field(default_factory=dict)
    again: set[str] = field(default_factory=set)
    wakers: "list[asyncio.Future[None]]" = field(default_factory=list)
    watchers: "list[asyncio.Future[None]]" = field(default_factory=list)
    attachments: list[Attach] = field(default_factory=list)
    handle: Handle | None = None
    line: SessionLine | None = None
    pid: int | None = None
    standing: dict[str, Any] | None = None
    verdict: Finished | Failed | None = None
    losses: list[Loss] = field(default_factory=list)
    suspect: str | None = None
    overdue: bool = False
    ended: bool = False
    progress_at: float = 0.0
    timer: asyncio.TimerHandle | None = None

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for the process."""
        return bool(self.waiting or self.wakers)

    @property
    def cautious(self) -> bool:
        """Whether steps are sent one at a time, since one of them may be what a process has died of."""
        return bool(self.again)

    def take(self, step: Step, body: bytes, bytes_max: int) -> Waiting:
        """Have a step wait; SessionsFull if too many do."""
        full = len(self.waiting) >= STEPS_MAX
        if full or (self.waiting and self.waiting_bytes + len(body) > bytes_max):
            what = f"{STEPS_MAX} steps" if full else f"{bytes_max} bytes"
            raise SessionsFull(f"at most {what} of a session wait for answers; wait for some", code="too_many_steps")
        waiting = self.waiting[step.id] = Waiting(step, body, asyncio.get_running_loop().create_future())
        # Whoever asked may be gone by then, and nobody else look at it.
        waiting.answer.add_done_callback(lambda answer: answer.cancelled() or answer.exception())
        self.waiting_bytes += len(body)
        return waiting

    def drop(self, step_id: str) -> Waiting | None:
        """Have a step wait no longer, and return it if it did."""
        waiting = self.waiting.pop(step_id, None)
        self.again.discard(step_id)
        if waiting is not None:
            self.waiting_bytes -= len(waiting.body)
        return waiting

    def refuse(self, error: AdjointError) -> None:
        """Answer everybody who waits with an error."""
        for waiting in [*self.waiting.values()]:
            self.drop(waiting.step.id)
            if not waiting.answer.done():
                waiting.answer.set_exception(error)
        for waker in self.wakers:
            if not waker.done():
                waker.set_exception(error)
        self.wakers.clear()
        self.tell_watchers()

    def move(self, state: PostState | None) -> None:
        """Note what becomes of the process."""
        self.state = state
        if state is None:
            self.handle = self.line = self.pid = self.verdict = None
            self.overdue = False
            self.attachments.clear()
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
        self.tell_watchers()

    async def change(self) -> None:
        """Wait until something has changed: the process, or what waits for it."""
        watcher = asyncio.get_running_loop().create_future()
        self.watchers.append(watcher)
        await watcher

    def tell_watchers(self) -> None:
        """Let those go on who wait for a change."""
        for watcher in self.watchers:
            if not watcher.done():
                watcher.set_result(None)
        self.watchers.clear()

    def lose(self) -> None:
        """Note that the process is gone with all that it had; what nobody has an answer to has to be sent again."""
        flying = [*self.flying]
        self.flying.clear()
        if flying:
            # One that has come to its end by itself has not died of anything.
            self.suspect = flying[0] if len(flying) == 1 and self.verdict is None else None
        self.again.update(step_id for step_id in flying if step_id in self.waiting)

    def to_send(self) -> Iterator[Waiting]:
        """Go through the steps to send now: all; or, as long as it has to be cautious, one at a time.

        Of those that have a place, the one whose turn it is goes first: it would have to wait for it in vain.
        """
        unsent = [waiting for step_id, waiting in self.waiting.items() if step_id not in self.flying]
        if not self.cautious:
            yield from unsent
            return
        if self.flying or not unsent:
            return
        due = [waiting for waiting in unsent if not self._is_ahead(waiting)]
        # Steps that wait for one that has not come cannot do any harm.
        yield from due[:1] or unsent

    def status(self) -> SessionStatus:
        """Say what is known; from any thread."""
        standing = self.standing or {}
        shown = "starting" if self.state == "queued" else self.state
        return SessionStatus(shown, self.pid, standing.get("next_seq"), standing.get("step"))

    def _is_ahead(self, waiting: Waiting) -> bool:
        seq, turn = waiting.seq, (self.standing or {}).get("next_seq")
        return seq is not None and turn is not None and seq > turn
