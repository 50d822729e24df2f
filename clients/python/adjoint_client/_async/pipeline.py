"""Steps that are submitted without waiting for those before."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from adjoint_client import steps
from adjoint_client._async.stepper import AsyncStepper
from adjoint_client.background import AsyncBackground, AsyncCondition, AsyncFuture, AsyncResult
from adjoint_client.declaring import declared
from adjoint_client.errors import not_carried_out
from adjoint_client.step import Step

P = ParamSpec("P")
T = TypeVar("T")

# Of one request: what is behind it waits as long as it takes.
_BATCH_STEPS = 128
_BATCH_BYTES = 8 << 20
# Limit of what is queued: a submission above it waits, too.
_QUEUED_STEPS = 512
_QUEUED_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class _Submitted:
    step: Step[Any]
    future: AsyncFuture[Any]


def _submits(
    build: Callable[P, Step[T]],
) -> Callable[Concatenate["AsyncPipeline", P], AsyncResult[AsyncFuture[T]]]:
    """Make a method that submits the steps that `build` makes."""

    async def submit(self: "AsyncPipeline", /, *args: P.args, **kwargs: P.kwargs) -> AsyncFuture[T]:
        return await self.submit(build(*args, **kwargs))

    return declared(submit, build)


class AsyncPipeline:
    """A block in which steps are submitted, and carried out in order while the caller goes on.

    Each verb of a session returns a future for its result. Steps travel together with those that were submitted while
    others were under way. After the first that fails none is carried out (`not_carried_out`); leaving the block waits
    for all, and raises that failure. Steps that were submitted before the block was left by an error are carried out.
    """

    forward = _submits(steps.forward)
    backward = _submits(steps.backward)
    forward_backward = _submits(steps.forward_backward)
    optim_step = _submits(steps.optim_step)
    zero_grad = _submits(steps.zero_grad)
    reset = _submits(steps.reset)
    set = _submits(steps.set_parameters)
    predict = _submits(steps.predict)
    row_losses = _submits(steps.row_losses)

    def __init__(self, stepper: AsyncStepper) -> None:
        self._stepper = stepper
        self._changed = AsyncCondition()
        self._queue: deque[_Submitted] = deque()
        self._queued_bytes = 0
        self._busy = False
        self.open = False
        self._failure: BaseException | None = None

    async def __aenter__(self) -> Self:
        self.open = True
        self._background = AsyncBackground(self._deliver)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with self._changed:
            self.open = False
            self._changed.notify_all()
        await self._background.ended()
        if error is None and self._failure is not None:
            raise self._failure

    async def submit(self, step: Step[T]) -> AsyncFuture[T]:
        """Have a step carried out behind those before it; wait only while too many do."""
        future: AsyncFuture[T] = AsyncFuture()
        submitted = _Submitted(step.copied(), future)
        async with self._changed:
            await self._changed.wait_for(self._has_room)
            if not self.open:
                raise RuntimeError("the pipeline is closed; submit steps inside its block")
            if self._failure is not None:
                _settle(submitted, not_carried_out())
            else:
                self._queue.append(submitted)
                self._queued_bytes += step.size
                self._changed.notify_all()
        return future

    async def drained(self) -> None:
        """Wait until everything that was submitted has been carried out, or has failed."""
        async with self._changed:
            await self._changed.wait_for(lambda: not (self._queue or self._busy))

    def _has_room(self) -> bool:
        return len(self._queue) < _QUEUED_STEPS and self._queued_bytes < _QUEUED_BYTES

    async def _deliver(self) -> None:
        """Carry out what is submitted until the block has been left."""
        while batch := await self._next():
            try:
                outcomes = await self._stepper.carry_out_all([submitted.step for submitted in batch])
            except BaseException as error:
                outcomes = [error, *[not_carried_out() for _ in batch[1:]]]
                if not isinstance(error, Exception):
                    await self._delivered(batch, outcomes)
                    raise
            await self._delivered(batch, outcomes)

    async def _next(self) -> list[_Submitted]:
        """Wait for steps, and take as many as travel together: one that answers with arrays goes alone."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._queue or not self.open)
            batch: list[_Submitted] = []
            size = 0
            while self._queue and len(batch) < _BATCH_STEPS:
                step = self._queue[0].step
                if batch and (step.outputs or batch[-1].step.outputs or size + step.size > _BATCH_BYTES):
                    break
                batch.append(self._queue.popleft())
                size += step.size
            self._queued_bytes -= size
            self._busy = bool(batch)
            self._changed.notify_all()
        return batch

    async def _delivered(self, batch: list[_Submitted], outcomes: list[Any]) -> None:
        async with self._changed:
            for submitted, outcome in zip(batch, outcomes, strict=True):
                if isinstance(outcome, BaseException) and self._failure is None:
                    self._failure = outcome
                _settle(submitted, outcome)
            if self._failure is not None:
                for submitted in self._queue:
                    _settle(submitted, not_carried_out())
                self._queue.clear()
                self._queued_bytes = 0
            self._busy = False
            self._changed.notify_all()


def _settle(submitted: _Submitted, outcome: Any) -> None:
    future = submitted.future
    if future.done():
        return  # the caller has cancelled it
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
        future.exception()  # looked at: the pipeline raises it even if nobody asks this future
    else:
        future.set_result(outcome)
