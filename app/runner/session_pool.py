"""The pool of session processes, in the event loop.

A step stays in the queue of its session until there is a reply. If the process is lost, the next one gets the step
again: a step that was already executed is answered from the log, with the same reply.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from contextvars import Context
from functools import partial
from types import MappingProxyType
from typing import Any

from app.config.settings import Settings
from app.domain.errors import ApiError, Corrupt, Draining, SessionElsewhere, SessionsFull, StepRefused, StorageFailed
from app.domain.frames import Frame, Head, Ready, Step, StepAccepted, StepReply
from app.domain.messages import Died, Failed, Finished, Log, NumericsChanged, Phase, Started
from app.domain.session import SessionRecord
from app.runner.frame_channel import FrameChannel
from app.runner.held_frames import HeldFrames
from app.runner.process_losses import LossPolicy, ProcessLoss
from app.runner.process_manager import ProcessEvent, ProcessManager
from app.runner.session_queue import ProcessSlots, Reply, SessionQueue
from app.service.resources.memory import MemoryPool
from app.service.sessions.attempts import SessionAttempts
from app.service.sessions.state import NO_PROCESS, KernelCount, SessionStatus

SUSPEND_SECONDS = 120.0
"""How long a process that is being suspended may take to write its snapshot; then it is killed, and the log has the
rest.
"""

CHANNEL_LOST_SECONDS = 5.0
"""How long a process may run on after it has closed its channel."""

CHECKS_PER_INTERVAL = 4
"""How often a process is checked within the idle timeout or the step timeout."""

QUEUED_BODIES = 2
"""How many bodies of the largest size may be queued in a session."""

REFUSALS: Mapping[str, type[ApiError]] = MappingProxyType({"no_node": SessionsFull, "not_stored": StorageFailed})
"""The errors of the steps that wait for a process which has ended for these reasons: no other one is started for them.
"""

_STOPPING = "the server is stopping; send the step again when it is back, with the same seq"

_logger = logging.getLogger(__name__)


class SessionPool:
    """Runs at most `settings.session_workers` processes at a time; implements `SessionWorkerPool`."""

    def __init__(
        self,
        attempts: SessionAttempts,
        processes: ProcessManager,
        settings: Settings,
        memory: MemoryPool | None = None,
        losses: LossPolicy | None = None,
    ) -> None:
        """Run processes through `processes`, within `memory`, with assignments from `attempts`.

        `losses` decides what unexpected exits mean.
        """
        self._attempts = attempts
        self._memory = memory or MemoryPool()
        self._processes = processes
        self._settings = settings
        self._loss_policy = losses or LossPolicy(processes.exit_log, settings.step_seconds)
        self._queues: dict[str, SessionQueue] = {}
        self._slots = ProcessSlots(
            self._queues,
            settings.session_workers,
            self._memory,
            lambda queue: self._spawn(self._start(queue)),
            self._suspend,
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining = False

    async def execute(self, session: SessionRecord, step: Step, body: bytes) -> Reply:
        """Execute a step; it is executed even if the client disconnects."""
        queue = self._queue_of(session)
        queued = queue.enqueue(step, body, QUEUED_BODIES * self._settings.max_step_bytes)
        try:
            self._advance(queue)
        except SessionsFull:
            queue.remove(step.id)
            raise
        return await asyncio.shield(queued.reply)

    async def wake(self, session: SessionRecord) -> None:
        """Start a process if there is none, and wait until it is ready."""
        queue = self._queue_of(session)
        if queue.state == "ready":
            return
        waker = asyncio.get_running_loop().create_future()
        queue.wakers.append(waker)
        try:
            self._advance(queue)
            await waker
        finally:
            if waker in queue.wakers:
                queue.wakers.remove(waker)

    async def attach(self, session_id: str, dataset_id: str) -> None:
        """Send a dataset to the process, if there is one or it is starting."""
        queue = self._queues.get(session_id)
        if queue is None or queue.state is None:
            return
        attach = await asyncio.to_thread(self._attempts.attachment, session_id, dataset_id)
        if queue.state == "ready" and queue.channel is not None:
            queue.channel.send(attach)
        elif queue.state is not None:
            queue.attachments.append(attach)

    async def suspend(self, session_id: str) -> None:
        """Stop the process once it has answered all its steps."""
        queue = self._queues.get(session_id)
        while queue is not None and (queue.state is not None or queue.is_needed):
            if not queue.queued and queue.state in ("starting", "ready"):
                self._suspend(queue)
            await queue.wait_for_change()

    async def end(self, session_id: str) -> None:
        """Kill the process, and refuse the queued steps."""
        queue = self._queues.get(session_id)
        if queue is None:
            return
        queue.ended = True
        queue.fail_all(_closed_error(session_id))
        if queue.handle is not None:
            self._processes.kill(queue.handle)
        while queue.state is not None:
            await queue.wait_for_change()
        self._queues.pop(session_id, None)

    def status(self, session_id: str) -> SessionStatus:
        """Return the status of a session; from any thread."""
        queue = self._queues.get(session_id)
        return NO_PROCESS if queue is None else queue.status()

    def drain(self) -> None:
        """Accept no more steps, and wait for those in flight; call it from any thread but that of the event loop."""
        if self._loop is not None and self._loop.is_running():
            asyncio.run_coroutine_threadsafe(self._drain(), self._loop).result()

    async def _drain(self) -> None:
        self._draining = True
        in_flight: list[asyncio.Future[Any]] = []
        for queue in self._queues.values():
            for queued in [*queue.queued.values()]:
                if queued.step.id in queue.in_flight:
                    in_flight.append(queued.reply)
                else:
                    queue.remove(queued.step.id)
                    queued.reply.set_exception(Draining(_STOPPING))
            queue.notify_watchers()
        if in_flight or self._tasks:
            await asyncio.wait([*in_flight, *self._tasks], timeout=self._settings.drain_seconds)

    def _queue_of(self, session: SessionRecord) -> SessionQueue:
        if self._draining:
            raise Draining(_STOPPING)
        self._loop = asyncio.get_running_loop()
        queue = self._queues.setdefault(session.id, SessionQueue(session.id, session.memory_bytes or 0))
        if queue.ended:
            raise _closed_error(session.id)
        return queue

    def _advance(self, queue: SessionQueue) -> None:
        """Send queued steps, or request a process; SessionsFull if none is available."""
        if queue.state == "ready":
            self._send_steps(queue)
        elif queue.state is None and queue.is_needed and not queue.ended:
            self._slots.acquire(queue)

    async def _start(self, queue: SessionQueue) -> None:
        """Start the process of a session; refuse its queued steps if that fails."""
        error: ApiError | None = None
        try:
            await self._wait_after_losses(queue)
            poison = self._loss_policy.poison(queue.losses)
            assignment = await asyncio.to_thread(self._attempts.begin, queue.session_id, poison)
            if self._draining or queue.ended:
                error = Draining(_STOPPING)
            else:
                ours, theirs = socket.socketpair()
                on_frame = self._frame_handler(queue, assignment.attempt)
                queue.channel = FrameChannel(ours, on_frame, partial(self._on_channel_lost, queue))
                queue.handle = self._processes.start(
                    assignment, theirs, partial(self._forward_event, queue, assignment.attempt)
                )
                queue.notify_watchers()
        except ApiError as refused:
            error = refused
        except Exception:
            _logger.exception("session %s: cannot start its process", queue.session_id)
            error = ApiError("the process of the session cannot be started; the server's log says why")
        if error is not None:
            queue.fail_all(error)
            self._release_slot(queue)

    def _frame_handler(self, queue: SessionQueue, attempt: int) -> Callable[[Head, bytes], None]:
        """Return what handles the frames of a process: at once, or when what it has written is stored."""
        on_frame = partial(self._on_frame, queue)
        if not self._attempts.keeps_copies:
            return on_frame
        store = partial(self._attempts.store_files, queue.session_id, attempt)
        queue.held = HeldFrames(store, on_frame, partial(self._on_not_stored, queue))
        return queue.held.add

    async def _wait_after_losses(self, queue: SessionQueue) -> None:
        """Wait for the backoff after losses, unless the process is no longer needed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._loss_policy.backoff_seconds(queue.losses)):
                while not (self._draining or queue.ended):
                    await queue.wait_for_change()

    def _forward_event(self, queue: SessionQueue, attempt: int, event: ProcessEvent) -> None:
        """Pass an event to the event loop; called in the supervisor's thread."""
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._on_event, queue, attempt, event)
        except RuntimeError:
            # The event loop is closed: no client is waiting.
            return

    def _on_event(self, queue: SessionQueue, attempt: int, event: ProcessEvent) -> None:
        match event:
            case Started(pid):
                queue.pid = pid
            case Phase(runtime=dict(runtime)):
                write = partial(self._attempts.record_runtime, queue.session_id, attempt, runtime)
                self._spawn(self._record_report(write, queue.held))
            case NumericsChanged():
                self._spawn(
                    self._record_report(partial(self._attempts.record_numerics_change, queue.session_id, attempt))
                )
            case Failed() | Finished():
                queue.verdict = event
            case Log(code="compiling", count=int(count), total=int(total)):
                queue.compiling = KernelCount(count, total) if count < total else None
            case Log(_, text):
                _logger.warning("session %s: %s", queue.session_id, text)
            case Died():
                self._on_exit(queue, attempt, event)
            case _:
                pass

    def _on_frame(self, queue: SessionQueue, head: Head, body: bytes) -> None:
        """Handle a frame from a process."""
        if isinstance(head, Ready):
            self._on_ready(queue, head)
        elif isinstance(head, StepReply):
            queue.standing = head.standing
            queue.in_flight.pop(head.id, None)
            self._deliver_reply(queue, head.id, (head, body))
        elif isinstance(head, StepAccepted):
            self._deliver_reply(queue, head.id, (head, b""))

    def _on_ready(self, queue: SessionQueue, ready: Ready) -> None:
        queue.standing = ready.standing
        for waker in queue.wakers:
            if not waker.done():
                waker.set_result(None)
        queue.wakers.clear()
        if queue.state != "starting":
            return
        queue.progress_at = self._now()
        queue.set_state("ready")
        self._check_progress(queue)
        for attach in queue.attachments:
            assert queue.channel is not None
            queue.channel.send(attach)
        queue.attachments.clear()
        self._send_steps(queue)

    def _deliver_reply(self, queue: SessionQueue, step_id: str, reply: Reply) -> None:
        queue.progress_at = self._now()
        queue.losses.clear()
        queue.suspect_step = None
        one_at_a_time, queued = queue.one_at_a_time, queue.remove(step_id)
        if queued is not None and not queued.reply.done():
            queued.reply.set_result(reply)
        if queue.watchers:
            queue.notify_watchers()
        if one_at_a_time and queue.state == "ready":
            self._send_steps(queue)

    def _on_not_stored(self, queue: SessionQueue, frames: Sequence[Frame], error: ApiError) -> None:
        """Refuse the steps whose replies clients must not get. Sent again, they get them if they were executed."""
        _logger.warning("session %s: steps cannot be stored: %s", queue.session_id, error.detail)
        is_lost = isinstance(error, SessionElsewhere)
        if is_lost or any(isinstance(head, Ready) for head, _ in frames):
            queue.moved |= is_lost
            queue.fail_all(error)
            if queue.handle is not None:
                self._processes.kill(queue.handle)
        for head, _ in frames:
            if isinstance(head, StepReply | StepAccepted):
                self._refuse_step(queue, head, error)

    def _refuse_step(self, queue: SessionQueue, head: StepReply | StepAccepted, error: ApiError) -> None:
        if isinstance(head, StepReply):
            queue.in_flight.pop(head.id, None)
        queued = queue.remove(head.id)
        if queued is not None and not queued.reply.done():
            queued.reply.set_exception(error)

    def _send_steps(self, queue: SessionQueue) -> None:
        assert queue.channel is not None
        for queued in [*queue.to_send()]:
            if not queue.in_flight:
                queue.progress_at = self._now()
            queue.in_flight[queued.step.id] = None
            queue.channel.send(queued.step, queued.body)

    def _check_progress(self, queue: SessionQueue) -> None:
        """Kill a process whose step takes too long, suspend one that is idle, and schedule the next check."""
        queue.timer = None
        if queue.state != "ready":
            return
        idle_seconds, step_seconds = self._settings.session_idle_seconds, self._settings.step_seconds
        quiet = self._now() - queue.progress_at
        if queue.in_flight and quiet >= step_seconds:
            self._kill_overdue(queue)
        elif not queue.in_flight and not queue.is_needed and quiet >= self._idle_timeout():
            self._suspend(queue)
        else:
            to_resend = min(idle_seconds, step_seconds) / CHECKS_PER_INTERVAL
            queue.timer = asyncio.get_running_loop().call_later(to_resend, self._check_progress, queue)

    def _idle_timeout(self) -> float:
        """Return the idle timeout; it is shorter while a fit waits for memory."""
        return self._settings.session_idle_seconds / (CHECKS_PER_INTERVAL if self._memory.has_waiting_fit else 1)

    def _kill_overdue(self, queue: SessionQueue) -> None:
        _logger.warning("session %s: step timed out; killing its process", queue.session_id)
        queue.overdue = True
        if queue.handle is not None:
            self._processes.kill(queue.handle)

    def _suspend(self, queue: SessionQueue) -> None:
        """Ask the process to write a snapshot and exit."""
        if queue.handle is not None and queue.state != "stopping":
            queue.set_state("stopping")
            self._processes.stop(queue.handle, SUSPEND_SECONDS)

    def _on_channel_lost(self, queue: SessionQueue) -> None:
        """Kill a process that can no longer be reached, after a grace period; its exit is reported separately."""
        handle = queue.handle
        if handle is not None:
            asyncio.get_running_loop().call_later(CHANNEL_LOST_SECONDS, self._processes.kill, handle)

    def _on_exit(self, queue: SessionQueue, attempt: int, death: Died) -> None:
        """Handle the exit of a session's process."""
        if queue.handle is not None and queue.handle.attempt != attempt:
            return
        if queue.channel is not None:
            queue.channel.read_to_end()
            queue.channel.close()
        if queue.held is None:
            self._end_process(queue, attempt, death)
        else:
            self._spawn(self._store_and_end(queue, queue.held, attempt, death))

    async def _store_and_end(self, queue: SessionQueue, held: HeldFrames, attempt: int, death: Died) -> None:
        """Store what a process has written last."""
        with suppress(ApiError):
            await held.flush()
        if queue.moved:
            await asyncio.to_thread(self._attempts.forget_files, queue.session_id)
        self._end_process(queue, attempt, death)

    def _end_process(self, queue: SessionQueue, attempt: int, death: Died) -> None:
        """Decide what becomes of the steps that a process has not answered."""
        handle, overdue = queue.handle, queue.overdue
        queue.mark_lost()
        if isinstance(queue.verdict, Failed):
            self._spawn(self._on_failure(queue, attempt, queue.verdict))
            return
        if self._draining:
            queue.fail_all(Draining(_STOPPING))
        elif death.reason in REFUSALS:
            queue.fail_all(REFUSALS[death.reason](death.detail))
        elif death.reason != "stopped" and not (queue.ended or queue.moved) and handle is not None:
            self._count_loss(queue, ProcessLoss(handle, death.reason, death.detail, queue.suspect_step, overdue))
        self._release_slot(queue)

    def _count_loss(self, queue: SessionQueue, loss: ProcessLoss) -> None:
        """Count an unexpected exit; after several in a row the queued steps are refused."""
        _logger.warning("session %s: its process exited unexpectedly: %s", queue.session_id, loss.detail)
        queue.losses.append(loss)
        refusal = self._loss_policy.refuse_waiting(queue.losses)
        if refusal is not None:
            queue.fail_all(refusal)
            queue.losses.clear()

    async def _on_failure(self, queue: SessionQueue, attempt: int, failure: Failed) -> None:
        """Mark a session whose process cannot continue as failed."""
        if failure.blob is not None:
            await self._wait_for_repair(queue, failure)
            return
        _logger.error("session %s has failed: %s", queue.session_id, failure.detail)
        await self._record_report(partial(self._attempts.fail, queue.session_id, attempt, failure.code, failure.detail))
        queue.fail_all(await asyncio.to_thread(self._attempts.inactive_error, queue.session_id))
        self._release_slot(queue)

    async def _wait_for_repair(self, queue: SessionQueue, failure: Failed) -> None:
        """Refuse the steps queued for a session that cannot start until a stored file is repaired."""
        assert failure.blob is not None
        _logger.error("session %s cannot be restored now: %s", queue.session_id, failure.detail)
        await self._record_report(partial(self._attempts.mark_damaged, failure.blob, failure.detail))
        queue.fail_all(Corrupt(failure.detail, blob=failure.blob, problem=failure.detail, code=failure.code))
        self._release_slot(queue)

    def _release_slot(self, queue: SessionQueue) -> None:
        """Release the process slot, or keep it if another process is needed."""
        if queue.channel is not None:
            queue.channel.close()
        self._slots.release(queue, returns=queue.is_needed and not self._draining and not queue.ended)

    async def _record_report(self, write: "partial[None]", held: HeldFrames | None = None) -> None:
        """Store a report of a process, and before that what it has written; the session continues if that fails."""
        try:
            if held is not None:
                await held.flush()
            await asyncio.to_thread(write)
        except ApiError as error:
            _logger.warning("a report of a session's process cannot be stored: %s", error.detail)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        # Without the context (tenant) of the current request: the task may concern a session of another tenant.
        task = asyncio.get_running_loop().create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _closed_error(session_id: str) -> StepRefused:
    return StepRefused(f"session {session_id} was closed", code="session_closed")
