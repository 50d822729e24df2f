"""The pool of processes that run predictions and computations for requests, outside the server process."""

import asyncio
import logging
import secrets
import socket
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from app.config.settings import Settings
from app.domain.documents import NPY
from app.domain.errors import (
    AdjointError,
    ComputationLost,
    ComputationsFull,
    ComputeTimeout,
    Draining,
    Finding,
    StepRefused,
    TooLarge,
)
from app.domain.frames import Answered, Granted, Head, Need, Ready, Step
from app.domain.messages import ComputeAssignment, Died
from app.domain.runtime import NICENESS, NUMPY, Runtime
from app.runner.compute_slots import ComputeSlots
from app.runner.frame_channel import FrameChannel
from app.runner.process_manager import ProcessEvent, ProcessManager
from app.service.resources.memory import PROCESS_BYTES, MemoryConfig, MemoryPool, memory_terms
from app.service.resources.workers import ComputeRequest, ComputeResult

Reply = tuple[Answered, bytes]


class WorkerLost(Exception):  # noqa: N818 (named as what has happened)
    """The process is gone before it has answered."""

    def __init__(self, death: Died, granted: int) -> None:
        """Keep how it died, and how many bytes it might take."""
        super().__init__(death.detail)
        self.death = death
        self.granted = granted


class ComputeWorker:
    """A process, from its start until it is gone."""

    def __init__(
        self,
        processes: ProcessManager,
        assignment: ComputeAssignment,
        grant: Callable[["ComputeWorker", Need], int],
        on_gone: Callable[["ComputeWorker"], None],
    ) -> None:
        """Start it, from the event loop; `grant` says how many bytes it gets, and `on_gone` is called in the end."""
        self.id = assignment.worker_id
        self.models: tuple[str, ...] = ()
        self.kept_bytes = 0
        self.granted = assignment.memory_bytes
        self.refusal: AdjointError | None = None
        """Why it was not granted what it asked for last."""
        self.needs_replacement = False
        """Whether it is to be replaced."""
        self.reserved = False
        """Whether an order is about to begin, or has begun."""
        self.file: Path | None = None
        """Where the answer is written; it is of no use if this is gone before it has answered."""
        self.reading_bytes = 0
        """What reading the body takes."""
        self.killed = False
        self.gone = asyncio.Event()
        self._grant = grant
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._answer: asyncio.Future[Reply] | None = None
        self._processes = processes
        ours, theirs = socket.socketpair()
        self._channel = FrameChannel(ours, self._on_frame, self._on_channel_lost)
        self._handle = processes.start(assignment, theirs, self._on_event)

    @property
    def idle(self) -> bool:
        """Whether it could begin with an order."""
        return not (self.reserved or self.killed or self.gone.is_set())

    async def execute(self, step: Step, body: bytes) -> Reply:
        """Have an order carried out. Lost if the process is; if this is cancelled, the process is killed."""
        assert self._answer is None
        answer: asyncio.Future[Reply] = self._loop.create_future()
        self._answer = answer
        try:
            await self._ready
            self._channel.send(step, body)
            return await answer
        except asyncio.CancelledError:
            self.kill()
            raise
        finally:
            self._answer = None

    def kill(self) -> None:
        """End the process."""
        self.killed = True
        self._processes.kill(self._handle)

    def _on_event(self, event: ProcessEvent) -> None:
        """Have the event loop take news, from the supervisor's thread."""
        if isinstance(event, Died):
            try:
                self._loop.call_soon_threadsafe(self._on_gone_worker, event)
            except RuntimeError:
                # The loop is closed: nobody waits for anything any more.
                return

    def _on_frame(self, head: Head, body: bytes) -> None:
        if isinstance(head, Ready) and not self._ready.done():
            self._ready.set_result(None)
        elif isinstance(head, Need):
            self._channel.send(Granted(head.id, self._grant(self, head)))
        elif isinstance(head, Answered):
            self.models = tuple(head.standing["models"])
            self.kept_bytes, self.needs_replacement = head.standing["kept_bytes"], head.standing["worn"]
            if self._answer is not None and not self._answer.done():
                self._answer.set_result((head, body))

    def _on_channel_lost(self) -> None:
        """See that a process goes that hears nothing any more; one that is gone will be reported as such."""
        self.kill()

    def _on_gone_worker(self, death: Died) -> None:
        self._channel.read_to_end()
        self._channel.close()
        self.gone.set()
        for waiting in (self._ready, self._answer):
            if waiting is not None and not waiting.done():
                waiting.set_exception(WorkerLost(death, self.granted))
                # Nobody may be there to look at it.
                waiting.exception()
        self._on_gone(self)


IDLE_SECONDS = 300.0
"""How long a process is kept that nobody has an order for."""

MODELS_SHARE = 8
"""One in so many bytes of the memory for processes may be taken by models that one of them keeps."""

JSON_READ_FACTOR = 24
"""Bytes that a byte of JSON takes while it is read, at most; of `.npy` it is 4."""

ADVICE = "send fewer rows, or ask for less"

_STOPPING = "the server is stopping; send the request again when it is back"

_logger = logging.getLogger(__name__)


class ComputePool:
    """At most `settings.compute_workers` processes (a `service.computing.Computing`)."""

    def __init__(
        self, processes: ProcessManager, settings: Settings, memory_pool: MemoryPool, memory: MemoryConfig, folder: Path
    ) -> None:
        """Run processes through `processes`, within `memory_pool`.

        Each request is limited by `memory`; long responses are written to `folder`.
        """
        self._processes = processes
        self._settings = settings
        self._memory_pool = memory_pool
        self._memory = memory
        self._folder = folder
        self._slots = ComputeSlots(settings.compute_workers, settings.compute_seconds)
        self._workers: dict[str, ComputeWorker] = {}
        self._ids = count(1)
        self._tasks: set[asyncio.Task[ComputeResult]] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining = False
        memory_pool.on_overcommitted(self._request_idle_shutdown)

    async def execute(self, request: ComputeRequest) -> ComputeResult:
        """Have something computed (see `service.computing.Computing`)."""
        if self._draining:
            raise Draining(_STOPPING)
        self._loop = asyncio.get_running_loop()
        task = self._loop.create_task(self._execute_limited(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await task
        except asyncio.CancelledError:
            if self._draining:
                raise Draining(_STOPPING) from None
            raise

    def drain(self) -> None:
        """Stop everything at once, and begin with nothing more; from any thread but the event loop's."""
        if self._loop is not None and self._loop.is_running():
            asyncio.run_coroutine_threadsafe(self._drain(), self._loop).result()

    async def _drain(self) -> None:
        self._draining = True
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        for worker in self._workers.values():
            worker.kill()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _execute_limited(self, request: ComputeRequest) -> ComputeResult:
        seconds = self._settings.compute_seconds
        async with self._slots.acquire(is_prediction=request.model is not None):
            try:
                async with asyncio.timeout(seconds):
                    return await self._execute_retrying(request)
            except TimeoutError as error:
                detail = f"after {seconds:g} s (ADJOINT_COMPUTE_SECONDS) it was stopped; {ADVICE}"
                raise ComputeTimeout(detail, limit=seconds) from error

    async def _execute_retrying(self, request: ComputeRequest) -> ComputeResult:
        """Have it computed; a prediction once more if its process is lost."""
        try:
            return await self._execute_on(await self._acquire_worker(request), request)
        except WorkerLost as lost:
            _logger.warning("a process that computes was lost: %s", lost.death.detail)
            if request.model is None:
                raise _to_loss_error(lost) from lost
        try:
            return await self._execute_on(await self._acquire_worker(request), request)
        except WorkerLost as lost:
            raise _to_loss_error(lost) from lost

    async def _acquire_worker(self, request: ComputeRequest) -> ComputeWorker:
        """Return a process for the order, reserved for it: one that has the model, any other one, or a new one."""
        idle = [worker for worker in self._workers.values() if worker.idle]
        name = None if request.model is None else request.model.name
        worker = next((worker for worker in idle if name in worker.models), idle[0] if idle else None)
        own = PROCESS_BYTES[NUMPY] + _reading_bytes(request)
        if worker is not None and not self._memory_pool.reserve_compute(worker.id, own + worker.kept_bytes):
            worker.kill()  # what it keeps is in the way
            worker = None
        if worker is None:
            await self._wait_for_exits()
            worker = self._start(own)
        worker.reserved, worker.granted = True, own + worker.kept_bytes
        return worker

    async def _wait_for_exits(self) -> None:
        """Wait until those are gone that were killed, with the memory that they have."""
        for worker in [worker for worker in self._workers.values() if worker.killed]:
            await worker.gone.wait()

    def _start(self, needed: int) -> ComputeWorker:
        worker_id = f"compute-{next(self._ids)}"
        self._memory.check({"process_bytes": needed}, "", "a process that computes", "give the server more memory")
        if not self._memory_pool.reserve_compute(worker_id, needed):
            raise self._memory_full(needed)
        assignment = ComputeAssignment(
            worker_id=worker_id,
            attempt=1,
            token=secrets.token_hex(8),
            runtime=Runtime(NUMPY, 1, None, None, NICENESS["high"], {}).to_json(),
            memory_bytes=PROCESS_BYTES[NUMPY],
            models_bytes=self._memory.budget // MODELS_SHARE,
            answer_bytes=self._settings.max_answer_bytes,
            operations=self._settings.compute_operations,
            folder=str(self._folder),
            min_free_bytes=self._settings.storage_min_free_bytes,
        )
        worker = self._workers[worker_id] = ComputeWorker(
            self._processes, assignment, self._grant, self._on_gone_worker
        )
        return worker

    async def _execute_on(self, worker: ComputeWorker, request: ComputeRequest) -> ComputeResult:
        try:
            options = {**request.options, "granted": worker.granted}
            if request.model is not None:
                held = request.model.name in worker.models
                load = None if held else await asyncio.to_thread(request.model.load)
                options |= {"model": request.model.name, "load": load}
            step = Step(secrets.token_hex(12), request.verb, options, media=request.media, accept=request.accept)
            worker.file = self._folder / step.id
            worker.reading_bytes = _reading_bytes(request)
            answered, body = await worker.execute(step, request.body)
            worker.file = None  # of whoever takes the answer
            return self._to_result(worker, answered, body)
        finally:
            self._release(worker)

    def _to_result(self, worker: ComputeWorker, answered: Answered, body: bytes) -> ComputeResult:
        if answered.error is not None:
            # One without a word was not granted the memory.
            raise _to_error(answered.error) if answered.error else worker.refusal or self._memory_full(worker.granted)
        return ComputeResult(answered.media, body if answered.file is None else self._folder / answered.file)

    def _grant(self, worker: ComputeWorker, need: Need) -> int:
        """Return how many bytes a process may take for what it needs: 0 if not now, -1 if never."""
        try:
            terms = memory_terms({**need.terms, "request_bytes": worker.reading_bytes}, NUMPY)
            needed = self._memory.check(terms, "/inputs", "the computation", ADVICE) + need.kept_bytes
        except TooLarge as error:
            worker.refusal = error
            return -1
        if not self._memory_pool.reserve_compute(worker.id, needed):
            worker.refusal = self._memory_full(needed)
            return 0
        worker.granted = needed
        return needed

    def _memory_full(self, needed: int) -> ComputationsFull:
        budget, kept = self._memory.budget, self._memory_pool.committed
        return ComputationsFull(
            f"the computation needs about {needed} bytes of memory; of {budget} for all processes, fits, sessions and "
            f"other computations have {kept}, or wait for them; send it again later",
            code="memory_full",
        )

    def _release(self, worker: ComputeWorker) -> None:
        """Let a process rest that has done its order, unless it is gone, or is to be."""
        worker.reserved, worker.refusal = False, None
        if worker.needs_replacement:
            worker.kill()
        elif not worker.killed and worker.id in self._workers:
            self._memory_pool.mark_compute_idle(worker.id, PROCESS_BYTES[NUMPY] + worker.kept_bytes)
            timer = self._timers.pop(worker.id, None)
            if timer is not None:
                timer.cancel()
            self._timers[worker.id] = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._kill_if_idle, worker)

    def _kill_if_idle(self, worker: ComputeWorker) -> None:
        if worker.idle:
            worker.kill()

    def _request_idle_shutdown(self) -> None:
        """Kill the processes that are idle; from any thread."""
        if self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(self._kill_idle)

    def _kill_idle(self) -> None:
        for worker in [*self._workers.values()]:
            self._kill_if_idle(worker)

    def _on_gone_worker(self, worker: ComputeWorker) -> None:
        """Take back what a process had that is gone."""
        if worker.file is not None:
            worker.file.unlink(missing_ok=True)
        self._workers.pop(worker.id, None)
        timer = self._timers.pop(worker.id, None)
        if timer is not None:
            timer.cancel()
        self._memory_pool.release_compute(worker.id)


def _reading_bytes(request: ComputeRequest) -> int:
    return len(request.body) * (4 if request.media == NPY else JSON_READ_FACTOR)


def _to_error(error: dict[str, Any]) -> AdjointError:
    """Return what a process has said of an order as an error."""
    fields = dict(error)
    detail, findings = fields.pop("detail"), [Finding(**finding) for finding in fields.pop("findings")]
    code, status, title = fields.pop("code"), fields.pop("status"), fields.pop("title")
    return StepRefused(detail, code=code, status=status, title=title, findings=findings, extensions=fields)


def _to_loss_error(lost: WorkerLost) -> AdjointError:
    death = lost.death
    if death.reason == "blas_abort":
        detail = f"the computation found no more memory within the {lost.granted} bytes that were estimated for it"
        return TooLarge(f"{detail}; {ADVICE}", limit=lost.granted, code="memory_exceeded")
    return ComputationLost(f"the process that computed is gone: {death.detail}; send the request again")
