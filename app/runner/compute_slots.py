"""The places of predictions and computations: so many are worked on at a time, the others wait. For the event loop."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.domain.access import current_tenant
from app.domain.errors import ComputationsFull

WAITING_MAX = 64
"""Predictions and computations that may wait for a place; of one tenant half of them."""


@dataclass(eq=False, slots=True)
class _Waiting:
    tenant: str | None
    predicts: bool
    place: "asyncio.Future[None]"


class ComputePlaces:
    """Gives places in turn: of those who wait, to the tenant who has fewest.

    Where there are several, one is for predictions alone, which are short: they do not wait for computations.
    """

    def __init__(self, most: int, patience: float) -> None:
        """Begin with `most` places, each waited for up to `patience` seconds."""
        self._most = most
        self._patience = patience
        self._waiting: deque[_Waiting] = deque()
        self._tenants: Counter[str | None] = Counter()
        self._taken = 0
        self._looking = 0

    @asynccontextmanager
    async def taken(self, *, predicts: bool) -> AsyncIterator[None]:
        """Take a place for the length of the block; ComputationsFull if too many wait, or after too long."""
        waiting = _Waiting(current_tenant(), predicts, asyncio.get_running_loop().create_future())
        await self._take(waiting)
        try:
            yield
        finally:
            self._leave(waiting)

    async def _take(self, waiting: _Waiting) -> None:
        if self._is_free(waiting) and not any(map(self._is_free, self._waiting)):
            self._give(waiting)
            return
        own = sum(other.tenant == waiting.tenant for other in self._waiting)
        if len(self._waiting) >= WAITING_MAX or own >= WAITING_MAX // 2:
            raise ComputationsFull(
                f"{len(self._waiting)} predictions and computations wait for one of {self._most} places, {own} of them "
                f"yours; at most {WAITING_MAX} wait, and half of them of one tenant; send it again later"
            )
        self._waiting.append(waiting)
        try:
            async with asyncio.timeout(self._patience):
                await waiting.place
        except TimeoutError as error:
            self._withdraw(waiting)
            raise ComputationsFull(
                f"all {self._most} places for predictions and computations were taken for {self._patience:g} s; send "
                "it again later"
            ) from error
        except asyncio.CancelledError:
            self._withdraw(waiting)
            raise

    def _withdraw(self, waiting: _Waiting) -> None:
        if waiting in self._waiting:
            self._waiting.remove(waiting)
        elif waiting.place.done() and not waiting.place.cancelled():
            self._leave(waiting)

    def _is_free(self, waiting: _Waiting) -> bool:
        looking = self._looking if not waiting.predicts else -1
        return self._taken < self._most and looking < max(1, self._most - 1)

    def _give(self, waiting: _Waiting) -> None:
        self._taken += 1
        self._looking += not waiting.predicts
        self._tenants[waiting.tenant] += 1
        if not waiting.place.done():
            waiting.place.set_result(None)

    def _leave(self, waiting: _Waiting) -> None:
        self._taken -= 1
        self._looking -= not waiting.predicts
        self._tenants[waiting.tenant] -= 1
        self._tenants += Counter()  # forgets who has none
        while free := [other for other in self._waiting if self._is_free(other)]:
            following = min(free, key=lambda other: self._tenants[other.tenant])
            self._waiting.remove(following)
            self._give(following)
