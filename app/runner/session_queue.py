"""The queued steps of each session, and the process slots that sessions share. Used by the event loop."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from app.domain.errors import AdjointError, SessionsFull
from app.domain.frames import Accepted, Answered, Attach, Step
from app.domain.messages import Failed, Finished
from app.runner.frame_channel import SessionLine
from app.runner.port import Handle
from app.runner.process_losses import Loss
from app.service.resources.memory import Room
from app.service.sessions.state import SessionStatus

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


_NO_MEMORY = (
    "the process of the session needs about {} bytes of memory, which fits and other sessions have, or wait for; send "
    "the step again later, or cancel a fit"
)


class SessionPlaces:
    """The places for processes, and the sessions that wait for one, in turn."""

    def __init__(
        self,
        posts: Mapping[str, Post],
        most: int,
        room: Room,
        start: Callable[[Post], None],
        stop: Callable[[Post], None],
    ) -> None:
        """Let `most` of the `posts` have a process, by calling `start`; `stop` has one put everything aside and go."""
        self._posts = posts
        self._most = most
        self._room = room
        self._start = start
        self._stop = stop
        self._queue: deque[Post] = deque()

    def ask(self, post: Post) -> None:
        """Have a process started as soon as there is a place; SessionsFull if there will be none."""
        self._make_way_among_all()
        post.move("queued")
        self._queue.append(post)
        self._fill()

    def leave(self, post: Post, *, returns: bool) -> None:
        """Give up the place of a process that is gone; if it `returns`, the session has the place again."""
        post.move(None)
        if returns:
            post.move("queued")
            self._queue.appendleft(post)
        else:
            self._room.leave_session(post.session_id)
        self._fill()

    def _make_way_among_all(self) -> None:
        """See that there will be a place for one more: the process that has been idle for longest is to go."""
        if self._count("queued", "starting", "ready") >= self._most and not self._has_idle_one_go():
            raise SessionsFull(
                f"all {self._most} processes of sessions are at work; wait until one is idle, or close a session"
            )

    def _fill(self) -> None:
        """Start processes for those that wait, as far as there are places."""
        running = self._count("starting", "ready", "stopping")
        while self._queue and running < self._most:
            post = self._queue[0]
            if post.state == "queued":
                if self._room.take_for_session(post.session_id, post.memory_bytes):
                    post.move("starting")
                    running += 1
                    self._start(post)
                elif self._room.would_be_enough(post.memory_bytes) and self._memory_comes():
                    return
                else:
                    post.move(None)
                    post.refuse(SessionsFull(_NO_MEMORY.format(post.memory_bytes), code="memory_full"))
            self._queue.popleft()

    def _memory_comes(self) -> bool:
        """Whether a process is about to leave its memory to another."""
        return self._count("stopping") > 0 or self._has_idle_one_go()

    def _has_idle_one_go(self) -> bool:
        idle = [post for post in self._posts.values() if post.state == "ready" and not (post.flying or post.wanted)]
        if idle:
            self._stop(min(idle, key=lambda post: post.progress_at))
        return bool(idle)

    def _count(self, *states: str) -> int:
        return sum(post.state in states for post in self._posts.values())
