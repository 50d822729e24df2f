"""The pool of processes that run predictions and computations for requests, outside the server process."""

import asyncio
import logging
import secrets
import socket
from collections.abc import Callable
from itertools import count
from pathlib import Path

from app.config.settings import Settings
from app.domain.documents import NPY
from app.domain.errors import (
    ApiError,
    ComputationLost,
    ComputationsFull,
    ComputeTimeout,
    Draining,
    StepRefused,
    TooLarge,
)
from app.domain.frames import Head, MemoryReply, MemoryRequest, Ready, Step, StepReply
from app.domain.messages import ComputeAssignment, Died
from app.domain.runtime import NICENESS, NUMPY, Runtime
from app.runner.compute_slots import ComputeSlots
from app.runner.frame_channel import FrameChannel
from app.runner.process_manager import ProcessEvent, ProcessManager
from app.service.resources.memory import PROCESS_BYTES, MemoryConfig, MemoryPool, memory_terms
from app.service.resources.workers import ComputeRequest, ComputeResult

Reply = tuple[StepReply, bytes]


class WorkerLost(Exception):  # noqa: N818 (named as what has happened)
    """The process exited before it responded."""

    def __init__(self, death: Died, granted: int) -> None:
        """Keep how it ended, and how much memory it was granted."""
        super().__init__(death.detail)
        self.death = death
        self.granted = granted


class ComputeWorker:
    """The event loop's side of a compute process: one request at a time."""

    def __init__(
        self,
        processes: ProcessManager,
        assignment: ComputeAssignment,
        grant: Callable[["ComputeWorker", MemoryRequest], int],
        on_gone: Callable[["ComputeWorker"], None],
    ) -> None:
        """Start the process. `grant` decides about its memory requests; `on_gone` is called when it has exited."""
        self.id = assignment.worker_id
        self.models: tuple[str, ...] = ()
        self.kept_bytes = 0
        self.granted = assignment.memory_bytes
        self.refusal: ApiError | None = None
        """Why its last memory request was denied."""
        self.needs_replacement = False
        """Whether the process is to be replaced after its request."""
        self.reserved = False
        """Whether a request is assigned to it."""
        self.file: Path | None = None
        """Where a long response is written; deleted if the process exits before it has responded."""
        self.reading_bytes = 0
        """The memory that parsing the request body takes."""
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
        """Whether it can take a request."""
        return not (self.reserved or self.killed or self.gone.is_set())

    async def execute(self, step: Step, body: bytes) -> Reply:
        """Execute a request. Raises WorkerLost if the process exits; cancellation kills the process."""
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
        """Pass an event to the event loop; called in the supervisor's thread."""
        if isinstance(event, Died):
            try:
                self._loop.call_soon_threadsafe(self._on_gone_worker, event)
            except RuntimeError:
                # The event loop is closed: no client is waiting.
                return

    def _on_frame(self, head: Head, body: bytes) -> None:
        if isinstance(head, Ready) and not self._ready.done():
            self._ready.set_result(None)
        elif isinstance(head, MemoryRequest):
            self._channel.send(MemoryReply(head.id, self._grant(self, head)))
        elif isinstance(head, StepReply):
            self.models = tuple(head.standing["models"])
            self.kept_bytes, self.needs_replacement = head.standing["kept_bytes"], head.standing["worn"]
            if self._answer is not None and not self._answer.done():
                self._answer.set_result((head, body))

    def _on_channel_lost(self) -> None:
        """Kill a process that can no longer be reached; its exit is reported by the supervisor."""
        self.kill()

    def _on_gone_worker(self, death: Died) -> None:
        self._channel.read_to_end()
        self._channel.close()
        self.gone.set()
        for waiting in (self._ready, self._answer):
            if waiting is not None and not waiting.done():
                waiting.set_exception(WorkerLost(death, self.granted))
                # Mark the exception as retrieved: there may be no waiter.
                waiting.exception()
        self._on_gone(self)


IDLE_SECONDS = 300.0
"""How long an idle process is kept."""

MODELS_SHARE = 8
"""Divisor of the memory budget that gives the most that cached models of one process may take."""

JSON_READ_FACTOR = 24
"""Bytes of memory per byte of JSON while it is parsed, at most; for `.npy` it is 4."""

PREDICT = "predict"
"""The verb of short predictions, for which a process is reserved; those over a table may take long."""

ADVICE = "send fewer rows, or ask for less"

_STOPPING = "the server is stopping; send the request again when it is back"

_logger = logging.getLogger(__name__)


class ComputePool:
    """At most `settings.compute_workers` processes; implements `app.service.resources.workers.ComputeService`."""

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
        """Execute a request (see `ComputeService.execute`)."""
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
        """Stop all requests and accept no more; call it from any thread but that of the event loop."""
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
        async with self._slots.acquire(is_prediction=request.verb == PREDICT):
            try:
                async with asyncio.timeout(seconds):
                    return await self._execute_retrying(request)
            except TimeoutError as error:
                detail = f"stopped after {seconds:g} s (ADJOINT_COMPUTE_SECONDS); {ADVICE}"
                raise ComputeTimeout(detail, limit=seconds) from error

    async def _execute_retrying(self, request: ComputeRequest) -> ComputeResult:
        """Execute a request; a prediction is retried once if its process is lost, since it has no side effects."""
        try:
            return await self._execute_on(await self._acquire_worker(request), request)
        except WorkerLost as lost:
            _logger.warning("a compute process exited unexpectedly: %s", lost.death.detail)
            if request.model is None:
                raise _to_loss_error(lost) from lost
        try:
            return await self._execute_on(await self._acquire_worker(request), request)
        except WorkerLost as lost:
            raise _to_loss_error(lost) from lost

    async def _acquire_worker(self, request: ComputeRequest) -> ComputeWorker:
        """Reserve a process: one that has the model loaded, any idle one, or a new one."""
        idle = [worker for worker in self._workers.values() if worker.idle]
        name = None if request.model is None else request.model.name
        worker = next((worker for worker in idle if name in worker.models), idle[0] if idle else None)
        own = PROCESS_BYTES[NUMPY] + _reading_bytes(request)
        if worker is not None and not self._memory_pool.reserve_compute(worker.id, own + worker.kept_bytes):
            worker.kill()  # its cached models take too much memory
            worker = None
        if worker is None:
            await self._wait_for_exits()
            worker = self._start(own)
        worker.reserved, worker.granted = True, own + worker.kept_bytes
        return worker

    async def _wait_for_exits(self) -> None:
        """Wait until killed processes have exited and released their memory."""
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
            worker.file = None  # owned by the caller from here on
            return self._to_result(worker, answered, body)
        finally:
            self._release(worker)

    def _to_result(self, worker: ComputeWorker, answered: StepReply, body: bytes) -> ComputeResult:
        if answered.error is not None:
            # An empty error means that the memory request was denied.
            if answered.error:
                raise StepRefused.from_json(answered.error)
            raise worker.refusal or self._memory_full(worker.granted)
        return ComputeResult(answered.media, body if answered.file is None else self._folder / answered.file)

    def _grant(self, worker: ComputeWorker, need: MemoryRequest) -> int:
        """Return the bytes granted to a process: 0 if not available now, -1 if never."""
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
        """Return a process to the pool, unless it has exited or is to be replaced."""
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
        """Kill idle processes; from any thread."""
        if self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(self._kill_idle)

    def _kill_idle(self) -> None:
        for worker in [*self._workers.values()]:
            self._kill_if_idle(worker)

    def _on_gone_worker(self, worker: ComputeWorker) -> None:
        """Release the resources of a process that has exited."""
        if worker.file is not None:
            worker.file.unlink(missing_ok=True)
        self._workers.pop(worker.id, None)
        timer = self._timers.pop(worker.id, None)
        if timer is not None:
            timer.cancel()
        self._memory_pool.release_compute(worker.id)


def _reading_bytes(request: ComputeRequest) -> int:
    return len(request.body) * (4 if request.media == NPY else JSON_READ_FACTOR)


def _to_loss_error(lost: WorkerLost) -> ApiError:
    death = lost.death
    if death.reason == "blas_abort":
        detail = f"the computation found no more memory within the {lost.granted} bytes that were estimated for it"
        return TooLarge(f"{detail}; {ADVICE}", limit=lost.granted, code="memory_exceeded")
    return ComputationLost(f"the compute process exited: {death.detail}; send the request again")
