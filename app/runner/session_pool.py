"""The processes of sessions, as the event loop sees them: each has its steps, and takes turns with the others.

A step is kept here until it is answered. Should its process be lost, the next one gets it again: what it has done
already it knows, and answers as before.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Coroutine
from contextvars import Context
from functools import partial
from typing import Any

from app.config.settings import Settings
from app.domain.errors import AdjointError, Corrupt, Draining, SessionsFull, StepRefused
from app.domain.frames import Accepted, Answered, Head, Ready, Step
from app.domain.messages import Died, Failed, Finished, Log, NumericsChanged, Phase, Started
from app.domain.session import SessionRecord
from app.runner.frame_channel import SessionLine
from app.runner.process_losses import Loss, Losses
from app.runner.process_manager import News, SessionHost
from app.runner.session_queue import Answer, Post, SessionPlaces
from app.service.resources.memory import Room
from app.service.sessions.attempts import SessionAttempts
from app.service.sessions.state import NO_PROCESS, SessionStatus

REST_SECONDS = 120.0
"""How long a process that is to rest may take to put everything aside; then it is killed, and its log has the rest."""

LOST_SECONDS = 5.0
"""How long a process may live on that has closed its line."""

LOOKS = 4
"""How often a process is looked at in the time after which it is idle, or after which a step takes too long."""

BYTES_FACTOR = 2
"""So many of the largest bodies of steps may wait in a session."""

_STOPPING = "the server is stopping; send the step again when it is back, with the same seq"

_logger = logging.getLogger(__name__)


class SessionCrew:
    """Runs at most `settings.session_workers` processes at a time (a `service.session_workforce.SessionWorkforce`)."""

    def __init__(
        self,
        attempts: SessionAttempts,
        host: SessionHost,
        settings: Settings,
        room: Room | None = None,
        losses: Losses | None = None,
    ) -> None:
        """Have processes run by `host`, as far as there is `room`, with what `attempts` says they need to know.

        `losses` says what it means that they die.
        """
        self._attempts = attempts
        self._room = room or Room()
        self._host = host
        self._settings = settings
        self._losses = losses or Losses(host.ends, settings.step_seconds)
        self._posts: dict[str, Post] = {}
        self._places = SessionPlaces(
            self._posts, settings.session_workers, self._room, lambda post: self._spawn(self._start(post)), self._stop
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining = False

    async def carry_out(self, session: SessionRecord, step: Step, body: bytes) -> Answer:
        """Have a step carried out; the client may go away meanwhile, it is carried out all the same."""
        post = self._post(session)
        waiting = post.take(step, body, BYTES_FACTOR * self._settings.max_step_bytes)
        try:
            self._see_to(post)
        except SessionsFull:
            post.drop(step.id)
            raise
        return await asyncio.shield(waiting.answer)

    async def wake(self, session: SessionRecord) -> None:
        """Start a process if there is none, and wait until it is ready."""
        post = self._post(session)
        if post.state == "ready":
            return
        waker = asyncio.get_running_loop().create_future()
        post.wakers.append(waker)
        try:
            self._see_to(post)
            await waker
        finally:
            if waker in post.wakers:
                post.wakers.remove(waker)

    async def attach(self, session_id: str, dataset_id: str) -> None:
        """Tell the process, if there is one or is about to be, of a dataset."""
        post = self._posts.get(session_id)
        if post is None or post.state is None:
            return
        attach = await asyncio.to_thread(self._attempts.attachment, session_id, dataset_id)
        if post.state == "ready" and post.line is not None:
            post.line.send(attach)
        elif post.state is not None:
            post.attachments.append(attach)

    async def rest(self, session_id: str) -> None:
        """Have the process go once it has answered all steps that it was given."""
        post = self._posts.get(session_id)
        while post is not None and (post.state is not None or post.wanted):
            if not post.waiting and post.state in ("starting", "ready"):
                self._stop(post)
            await post.change()

    async def end(self, session_id: str) -> None:
        """Kill the process, and refuse what waits."""
        post = self._posts.get(session_id)
        if post is None:
            return
        post.ended = True
        post.refuse(_closed(session_id))
        if post.handle is not None:
            self._host.kill(post.handle)
        while post.state is not None:
            await post.change()
        self._posts.pop(session_id, None)

    def status(self, session_id: str) -> SessionStatus:
        """Say what is known; from any thread."""
        post = self._posts.get(session_id)
        return NO_PROCESS if post is None else post.status()

    def drain(self) -> None:
        """Take no more steps, and wait a while for those that processes have; from any thread but the event loop's."""
        if self._loop is not None and self._loop.is_running():
            asyncio.run_coroutine_threadsafe(self._drain(), self._loop).result()

    async def _drain(self) -> None:
        self._draining = True
        flying: list[asyncio.Future[Any]] = []
        for post in self._posts.values():
            for waiting in [*post.waiting.values()]:
                if waiting.step.id in post.flying:
                    flying.append(waiting.answer)
                else:
                    post.drop(waiting.step.id)
                    waiting.answer.set_exception(Draining(_STOPPING))
            post.tell_watchers()
        if flying or self._tasks:
            await asyncio.wait([*flying, *self._tasks], timeout=self._settings.drain_seconds)

    def _post(self, session: SessionRecord) -> Post:
        if self._draining:
            raise Draining(_STOPPING)
        self._loop = asyncio.get_running_loop()
        post = self._posts.setdefault(session.id, Post(session.id, session.memory_bytes or 0))
        if post.ended:
            raise _closed(session.id)
        return post

    def _see_to(self, post: Post) -> None:
        """Get on with what waits; SessionsFull if there is no process and none to be had."""
        if post.state == "ready":
            self._send(post)
        elif post.state is None and post.wanted and not post.ended:
            self._places.ask(post)

    async def _start(self, post: Post) -> None:
        """Start the process of a session; what waits for it hears of it if that is not possible."""
        error: AdjointError | None = None
        try:
            await self._wait_after_losses(post)
            poison = self._losses.poison(post.losses)
            assignment = await asyncio.to_thread(self._attempts.begin, post.session_id, poison)
            if self._draining or post.ended:
                error = Draining(_STOPPING)
            else:
                ours, theirs = socket.socketpair()
                post.line = SessionLine(ours, partial(self._hear, post), partial(self._lose_line, post))
                post.handle = self._host.start(assignment, theirs, partial(self._tell, post, assignment.attempt))
                post.tell_watchers()
        except AdjointError as refused:
            error = refused
        except Exception:
            _logger.exception("session %s: its process cannot be started", post.session_id)
            error = AdjointError("the session's process cannot be started; the server's log says why")
        if error is not None:
            post.refuse(error)
            self._dismiss(post)

    async def _wait_after_losses(self, post: Post) -> None:
        """Wait a while after losses, unless nobody wants the process any more."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._losses.pause(post.losses)):
                while not (self._draining or post.ended):
                    await post.change()

    def _tell(self, post: Post, attempt: int, news: News) -> None:
        """Have the event loop take news, from the supervisor's thread."""
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._take, post, attempt, news)
        except RuntimeError:
            # The loop is closed: nobody waits for anything any more.
            return

    def _take(self, post: Post, attempt: int, news: News) -> None:
        """Take news of a process."""
        match news:
            case Started(pid):
                post.pid = pid
            case Phase(runtime=dict(runtime)):
                self._spawn(self._record(partial(self._attempts.ran_with, post.session_id, attempt, runtime)))
            case NumericsChanged():
                self._spawn(self._record(partial(self._attempts.numerics_changed, post.session_id, attempt)))
            case Failed() | Finished():
                post.verdict = news
            case Log(_, text):
                _logger.warning("session %s: %s", post.session_id, text)
            case Died():
                self._bury(post, attempt, news)
            case _:
                pass

    def _hear(self, post: Post, head: Head, body: bytes) -> None:
        """Take what the process says of its steps."""
        if isinstance(head, Ready):
            self._make_ready(post, head)
        elif isinstance(head, Answered):
            post.standing = head.standing
            post.flying.pop(head.id, None)
            self._answer(post, head.id, (head, body))
        elif isinstance(head, Accepted):
            self._answer(post, head.id, (head, b""))

    def _make_ready(self, post: Post, ready: Ready) -> None:
        post.standing = ready.standing
        for waker in post.wakers:
            if not waker.done():
                waker.set_result(None)
        post.wakers.clear()
        if post.state != "starting":
            return
        post.progress_at = self._now()
        post.move("ready")
        self._look(post)
        for attach in post.attachments:
            assert post.line is not None
            post.line.send(attach)
        post.attachments.clear()
        self._send(post)

    def _answer(self, post: Post, step_id: str, answer: Answer) -> None:
        post.progress_at = self._now()
        post.losses.clear()
        post.suspect = None
        cautious, waiting = post.cautious, post.drop(step_id)
        if waiting is not None and not waiting.answer.done():
            waiting.answer.set_result(answer)
        if post.watchers:
            post.tell_watchers()
        if cautious and post.state == "ready":
            self._send(post)

    def _send(self, post: Post) -> None:
        assert post.line is not None
        for waiting in [*post.to_send()]:
            if not post.flying:
                post.progress_at = self._now()
            post.flying[waiting.step.id] = None
            post.line.send(waiting.step, waiting.body)

    def _look(self, post: Post) -> None:
        """See whether the process takes too long, or has been idle for long enough; look again in a while."""
        post.timer = None
        if post.state != "ready":
            return
        idle_seconds, step_seconds = self._settings.session_idle_seconds, self._settings.step_seconds
        quiet = self._now() - post.progress_at
        if post.flying and quiet >= step_seconds:
            self._cut_short(post)
        elif not post.flying and not post.wanted and quiet >= self._patience():
            self._stop(post)
        else:
            again = min(idle_seconds, step_seconds) / LOOKS
            post.timer = asyncio.get_running_loop().call_later(again, self._look, post)

    def _patience(self) -> float:
        """Return how long a process may be idle: less where a fit waits for its memory."""
        return self._settings.session_idle_seconds / (LOOKS if self._room.fit_waits else 1)

    def _cut_short(self, post: Post) -> None:
        _logger.warning("session %s: a step takes too long, and its process is killed", post.session_id)
        post.overdue = True
        if post.handle is not None:
            self._host.kill(post.handle)

    def _stop(self, post: Post) -> None:
        """Have the process put everything aside and go."""
        if post.handle is not None and post.state != "stopping":
            post.move("stopping")
            self._host.stop(post.handle, REST_SECONDS)

    def _lose_line(self, post: Post) -> None:
        """See that a process goes that hears nothing any more; one that is gone will be reported as such."""
        handle = post.handle
        if handle is not None:
            asyncio.get_running_loop().call_later(LOST_SECONDS, self._host.kill, handle)

    def _bury(self, post: Post, attempt: int, death: Died) -> None:
        """Find out what it means for a session that its process is gone."""
        if post.handle is not None and post.handle.attempt != attempt:
            return
        if post.line is not None:
            post.line.read_to_end()
            post.line.close()
        handle, overdue = post.handle, post.overdue
        post.lose()
        if isinstance(post.verdict, Failed):
            self._spawn(self._fail(post, attempt, post.verdict))
            return
        if self._draining:
            post.refuse(Draining(_STOPPING))
        elif death.reason != "stopped" and not post.ended and handle is not None:
            self._count(post, Loss(handle, death.reason, death.detail, post.suspect, overdue))
        self._dismiss(post)

    def _count(self, post: Post, loss: Loss) -> None:
        """Count a death that nobody wanted; after several in a row nobody waits any longer."""
        _logger.warning("session %s: its process is gone: %s", post.session_id, loss.detail)
        post.losses.append(loss)
        refusal = self._losses.refusal(post.losses)
        if refusal is not None:
            post.refuse(refusal)
            post.losses.clear()

    async def _fail(self, post: Post, attempt: int, failure: Failed) -> None:
        """Have a session fail whose process says that it cannot go on."""
        if failure.blob is not None:
            await self._wait_for_repair(post, failure)
            return
        _logger.error("session %s has failed: %s", post.session_id, failure.detail)
        await self._record(partial(self._attempts.fail, post.session_id, attempt, failure.code, failure.detail))
        post.refuse(await asyncio.to_thread(self._attempts.refusal, post.session_id))
        self._dismiss(post)

    async def _wait_for_repair(self, post: Post, failure: Failed) -> None:
        """Refuse the steps queued for a session that cannot start until a stored file is repaired."""
        assert failure.blob is not None
        _logger.error("session %s cannot be taken up now: %s", post.session_id, failure.detail)
        await self._record(partial(self._attempts.note_damage, failure.blob, failure.detail))
        post.refuse(Corrupt(failure.detail, blob=failure.blob, problem=failure.detail, code=failure.code))
        self._dismiss(post)

    def _dismiss(self, post: Post) -> None:
        """Have no process, unless another one is wanted at once."""
        if post.line is not None:
            post.line.close()
        self._places.leave(post, returns=post.wanted and not self._draining and not post.ended)

    async def _record(self, write: "partial[None]") -> None:
        """Write down what a process has told; the session goes on if that cannot be done now."""
        try:
            await asyncio.to_thread(write)
        except AdjointError as error:
            _logger.warning("what the process of a session tells cannot be written down: %s", error.detail)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        # Not for whoever has sent a request just now: it may be about the process of another one.
        task = asyncio.get_running_loop().create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _closed(session_id: str) -> StepRefused:
    return StepRefused(f"session {session_id} was closed meanwhile", code="session_closed")
