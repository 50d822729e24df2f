"""Slots for predictions and computations: a limited number execute at a time, others wait. For the event loop."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.domain.access import current_tenant
from app.domain.errors import ComputationsFull

MAX_WAITING = 64
"""Predictions and computations that may wait for a slot; half of them may be of one tenant."""


@dataclass(eq=False, slots=True)
class _Waiter:
    tenant: str | None
    is_prediction: bool
    granted: "asyncio.Future[None]"


class ComputeSlots:
    """Assigns slots fairly: the tenant with the fewest slots in use is served first.

    If there are several slots, one is reserved for predictions, which are short and should not wait for
    computations.
    """

    def __init__(self, slots: int, timeout: float) -> None:
        """Provide this many `slots`; a caller waits for one up to `timeout` seconds."""
        self._slots = slots
        self._timeout = timeout
        self._waiting: deque[_Waiter] = deque()
        self._tenants: Counter[str | None] = Counter()
        self._used = 0
        self._used_by_computations = 0

    @asynccontextmanager
    async def acquire(self, *, is_prediction: bool) -> AsyncIterator[None]:
        """Hold a slot for the length of the block; ComputationsFull if too many wait, or on timeout."""
        waiter = _Waiter(current_tenant(), is_prediction, asyncio.get_running_loop().create_future())
        await self._wait_for_slot(waiter)
        try:
            yield
        finally:
            self._release(waiter)

    async def _wait_for_slot(self, waiter: _Waiter) -> None:
        if self._is_free(waiter) and not any(map(self._is_free, self._waiting)):
            self._grant(waiter)
            return
        own_count = sum(other.tenant == waiter.tenant for other in self._waiting)
        if len(self._waiting) >= MAX_WAITING or own_count >= MAX_WAITING // 2:
            raise ComputationsFull(
                f"{len(self._waiting)} predictions and computations are waiting for one of {self._slots} slots, "
                f"{own_count} of them yours; at most {MAX_WAITING} may wait, half of them of one tenant; try later"
            )
        self._waiting.append(waiter)
        try:
            async with asyncio.timeout(self._timeout):
                await waiter.granted
        except TimeoutError as error:
            self._withdraw(waiter)
            raise ComputationsFull(
                f"all {self._slots} slots for predictions and computations were in use for {self._timeout:g} s; try "
                "again later"
            ) from error
        except asyncio.CancelledError:
            self._withdraw(waiter)
            raise

    def _withdraw(self, waiter: _Waiter) -> None:
        if waiter in self._waiting:
            self._waiting.remove(waiter)
        elif waiter.granted.done() and not waiter.granted.cancelled():
            self._release(waiter)

    def _is_free(self, waiter: _Waiter) -> bool:
        computations = self._used_by_computations if not waiter.is_prediction else -1
        return self._used < self._slots and computations < max(1, self._slots - 1)

    def _grant(self, waiter: _Waiter) -> None:
        self._used += 1
        self._used_by_computations += not waiter.is_prediction
        self._tenants[waiter.tenant] += 1
        if not waiter.granted.done():
            waiter.granted.set_result(None)

    def _release(self, waiter: _Waiter) -> None:
        self._used -= 1
        self._used_by_computations -= not waiter.is_prediction
        self._tenants[waiter.tenant] -= 1
        self._tenants += Counter()  # a tenant without slots needs no entry
        while free := [other for other in self._waiting if self._is_free(other)]:
            following = min(free, key=lambda other: self._tenants[other.tenant])
            self._waiting.remove(following)
            self._grant(following)
