"""The queued steps of each session, and the process slots that sessions share. Used by the event loop."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from app.domain.errors import ApiError, SessionsFull
from app.domain.frames import Attach, Step, StepAccepted, StepReply
from app.domain.messages import Failed, Finished
from app.runner.frame_channel import FrameChannel
from app.runner.held_frames import HeldFrames
from app.runner.port import Handle
from app.runner.process_losses import ProcessLoss
from app.service.resources.memory import MemoryPool
from app.service.sessions.state import KernelCount, SessionStatus

MAX_QUEUED_STEPS = 256
"""Steps of a session that may wait for their replies."""

ProcessState = Literal["queued", "starting", "ready", "stopping"]
Reply = tuple[StepReply | StepAccepted, bytes]


@dataclass(eq=False, slots=True)
class QueuedStep:
    """A step whose reply a client is waiting for."""

    step: Step
    body: bytes
    reply: "asyncio.Future[Reply]"

    @property
    def seq(self) -> int | None:
        """The sequence number of the step, of a batch that of its first step; None for the next one."""
        if self.step.seq is None and self.step.verb == "batch":
            steps: list[dict[str, Any]] = self.step.options.get("steps") or [{}]
            return steps[0].get("seq")
        return self.step.seq


@dataclass(eq=False, slots=True)
class SessionQueue:
    """The queued steps of a session, and its process.

    Attributes:
        memory_bytes: the memory that its process reserves.
        state: of the process; "queued" while it waits for a slot, None if none is needed.
        queued: steps without a reply, in the order of their arrival.
        in_flight: ids of steps that the process has not answered yet, in the order in which they were sent. Accepted
            steps are among them, though no client waits for their reply here.
        to_resend: those of the queued steps that a process had when it was lost.
        verdict: the last verdict of the process.
        compiling: the kernels that the process waits for.
        standing: the position of the session as its process last reported it.
        losses: unexpected exits in a row, without a reply in between.
        suspect_step: the step that the last process was executing when it exited, if it was the only one.
        overdue: whether the process is being killed because a step takes too long.
        ended: whether the session has ended.
        held: what the process has sent, where that is held until other servers could go on from it.
        moved: whether the process is being killed because another server runs the session.
    """

    session_id: str
    memory_bytes: int = 0
    state: ProcessState | None = None
    queued: dict[str, QueuedStep] = field(default_factory=dict)
    queued_bytes: int = 0
    in_flight: dict[str, None] = field(default_factory=dict)
    to_resend: set[str] = field(default_factory=set)
    wakers: "list[asyncio.Future[None]]" = field(default_factory=list)
    watchers: "list[asyncio.Future[None]]" = field(default_factory=list)
    attachments: list[Attach] = field(default_factory=list)
    handle: Handle | None = None
    channel: FrameChannel | None = None
    pid: int | None = None
    compiling: KernelCount | None = None
    standing: dict[str, Any] | None = None
    verdict: Finished | Failed | None = None
    losses: list[ProcessLoss] = field(default_factory=list)
    suspect_step: str | None = None
    overdue: bool = False
    ended: bool = False
    held: HeldFrames | None = None
    moved: bool = False
    progress_at: float = 0.0
    timer: asyncio.TimerHandle | None = None

    @property
    def is_needed(self) -> bool:
        """Whether a client is waiting for the process."""
        return bool(self.queued or self.wakers)

    @property
    def one_at_a_time(self) -> bool:
        """Whether steps are sent one at a time, as one of them may have ended the last process."""
        return bool(self.to_resend)

    def enqueue(self, step: Step, body: bytes, bytes_max: int) -> QueuedStep:
        """Add a step; SessionsFull if there are too many."""
        full = len(self.queued) >= MAX_QUEUED_STEPS
        if full or (self.queued and self.queued_bytes + len(body) > bytes_max):
            what = f"{MAX_QUEUED_STEPS} steps" if full else f"{bytes_max} bytes"
            raise SessionsFull(f"at most {what} of a session wait for answers; wait for some", code="too_many_steps")
        queued = self.queued[step.id] = QueuedStep(step, body, asyncio.get_running_loop().create_future())
        # Mark the exception as retrieved: the client may have disconnected.
        queued.reply.add_done_callback(lambda reply: reply.cancelled() or reply.exception())
        self.queued_bytes += len(body)
        return queued

    def remove(self, step_id: str) -> QueuedStep | None:
        """Remove a step and return it, None if it is not queued."""
        queued = self.queued.pop(step_id, None)
        self.to_resend.discard(step_id)
        if queued is not None:
            self.queued_bytes -= len(queued.body)
        return queued

    def fail_all(self, error: ApiError) -> None:
        """Fail all queued steps and waiting clients with an error."""
        for queued in [*self.queued.values()]:
            self.remove(queued.step.id)
            if not queued.reply.done():
                queued.reply.set_exception(error)
        for waker in self.wakers:
            if not waker.done():
                waker.set_exception(error)
        self.wakers.clear()
        self.notify_watchers()

    def set_state(self, state: ProcessState | None) -> None:
        """Set the state of the process."""
        self.state = state
        if state is None:
            self.handle = self.channel = self.pid = self.verdict = self.held = None
            self.overdue = self.moved = False
            self.attachments.clear()
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
        self.notify_watchers()

    async def wait_for_change(self) -> None:
        """Wait until the process or the queue has changed."""
        watcher = asyncio.get_running_loop().create_future()
        self.watchers.append(watcher)
        await watcher

    def notify_watchers(self) -> None:
        """Wake those who wait for a change."""
        for watcher in self.watchers:
            if not watcher.done():
                watcher.set_result(None)
        self.watchers.clear()

    def mark_lost(self) -> None:
        """Record that the process has exited; steps in flight have to be sent again."""
        self.compiling = None
        in_flight = [*self.in_flight]
        self.in_flight.clear()
        if in_flight:
            # A process with a verdict exited normally; no step is to blame.
            self.suspect_step = in_flight[0] if len(in_flight) == 1 and self.verdict is None else None
        self.to_resend.update(step_id for step_id in in_flight if step_id in self.queued)

    def to_send(self) -> Iterator[QueuedStep]:
        """Iterate over the steps to send now: all of them, or only one while they are sent one at a time.

        Among steps with a sequence number the next one goes first: any other would have to wait for it.
        """
        unsent = [queued for step_id, queued in self.queued.items() if step_id not in self.in_flight]
        if not self.one_at_a_time:
            yield from unsent
            return
        if self.in_flight or not unsent:
            return
        due = [queued for queued in unsent if not self._is_early(queued)]
        # Steps that wait for an earlier sequence number are not executed, so they can all be sent.
        yield from due[:1] or unsent

    def status(self) -> SessionStatus:
        """Return the status; from any thread."""
        standing = self.standing or {}
        shown = "starting" if self.state == "queued" else self.state
        return SessionStatus(shown, self.pid, standing.get("next_seq"), standing.get("step"), self.compiling)

    def _is_early(self, queued: QueuedStep) -> bool:
        seq, turn = queued.seq, (self.standing or {}).get("next_seq")
        return seq is not None and turn is not None and seq > turn


_NO_MEMORY = (
    "the process of the session needs about {} bytes of memory, which fits and other sessions use or wait for; "
    "send the step again later, or cancel a fit"
)


class ProcessSlots:
    """The slots for session processes, and the sessions that wait for one."""

    def __init__(
        self,
        queues: Mapping[str, SessionQueue],
        slots: int,
        memory: MemoryPool,
        start: Callable[[SessionQueue], None],
        stop: Callable[[SessionQueue], None],
    ) -> None:
        """Give `slots` of the `queues` a process through `start`; `stop` makes one write a snapshot and exit."""
        self._queues = queues
        self._slots = slots
        self._memory = memory
        self._start = start
        self._stop = stop
        self._waiting: deque[SessionQueue] = deque()

    def acquire(self, queue: SessionQueue) -> None:
        """Request a process; SessionsFull if no slot will become free."""
        self._ensure_slot()
        queue.set_state("queued")
        self._waiting.append(queue)
        self._start_queued()

    def release(self, queue: SessionQueue, *, returns: bool) -> None:
        """Release the slot of a process that has exited; if it `returns`, the session is first in line for it."""
        queue.set_state(None)
        if returns:
            queue.set_state("queued")
            self._waiting.appendleft(queue)
        else:
            self._memory.release_session(queue.session_id)
        self._start_queued()

    def _ensure_slot(self) -> None:
        """Ensure that one more slot will be free: the process that has been idle for longest is suspended."""
        if self._count("queued", "starting", "ready") >= self._slots and not self._stop_idle_process():
            raise SessionsFull(
                f"all {self._slots} session processes are busy; wait until one is idle, or close a session"
            )

    def _start_queued(self) -> None:
        """Start processes for waiting sessions while there are free slots."""
        running = self._count("starting", "ready", "stopping")
        while self._waiting and running < self._slots:
            queue = self._waiting[0]
            if queue.state == "queued":
                if self._memory.reserve_session(queue.session_id, queue.memory_bytes):
                    queue.set_state("starting")
                    running += 1
                    self._start(queue)
                elif self._memory.could_fit(queue.memory_bytes) and self._is_memory_expected():
                    return
                else:
                    queue.set_state(None)
                    queue.fail_all(SessionsFull(_NO_MEMORY.format(queue.memory_bytes), code="memory_full"))
            self._waiting.popleft()

    def _is_memory_expected(self) -> bool:
        """Whether a process is about to release memory."""
        return self._count("stopping") > 0 or self._stop_idle_process()

    def _stop_idle_process(self) -> bool:
        idle = [
            queue
            for queue in self._queues.values()
            if queue.state == "ready" and not (queue.in_flight or queue.is_needed)
        ]
        if idle:
            self._stop(min(idle, key=lambda queue: queue.progress_at))
        return bool(idle)

    def _count(self, *states: str) -> int:
        return sum(queue.state in states for queue in self._queues.values())
