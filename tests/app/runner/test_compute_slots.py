"""Who gets a place to compute, and who has to wait."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import pytest

from app.domain.access import acting_for
from app.domain.errors import ComputationsFull
from app.runner.compute_slots import MAX_WAITING, ComputeSlots


class ComputeHarness:
    """Places, and what has one now."""

    def __init__(self, most: int, patience: float = 60.0) -> None:
        self.places = ComputeSlots(most, patience)
        self.working: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ends: dict[str, asyncio.Event] = {}

    async def ask(self, name: str, *, predicts: bool = False, tenant: str = "a") -> None:
        """Have something ask for a place, and let it get one or wait."""
        self._ends[name] = asyncio.Event()
        with acting_for(tenant):
            self._tasks[name] = asyncio.create_task(self._work(name, predicts))
        await self._settle()

    async def end(self, name: str, *, leave: bool = False) -> None:
        """Have it end its work, or leave before that."""
        self._ends[name].set()
        if leave:
            self._tasks[name].cancel()
        with suppress(asyncio.CancelledError):
            await self._tasks[name]
        await self._settle()

    async def _work(self, name: str, predicts: bool) -> None:
        async with self.places.acquire(is_prediction=predicts):
            self.working.append(name)
            try:
                await self._ends[name].wait()
            finally:
                self.working.remove(name)

    async def _settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


def run(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scene)


def test_one_place_is_left_to_predictions() -> None:
    async def scene() -> None:
        harness = ComputeHarness(2)
        for name in ("look 1", "look 2"):
            await harness.ask(name)
        assert harness.working == ["look 1"]
        await harness.ask("prediction", predicts=True)
        assert harness.working == ["look 1", "prediction"]
        await harness.end("prediction")
        assert harness.working == ["look 1"]
        await harness.end("look 1")
        assert harness.working == ["look 2"]
        await harness.end("look 2")

    run(scene())


def test_the_tenant_who_has_fewest_is_next_and_who_leaves_has_no_turn() -> None:
    async def scene() -> None:
        harness = ComputeHarness(2)
        for name, tenant in {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b"}.items():
            await harness.ask(name, predicts=True, tenant=tenant)
        assert harness.working == ["a1", "a2"]
        await harness.end("a1")
        assert harness.working == ["a2", "b1"]
        await harness.end("a3", leave=True)
        await harness.end("a2")
        assert harness.working == ["b1", "b2"]
        await harness.end("b1", leave=True)
        await harness.end("b2")
        await harness.ask("c1")
        assert harness.working == ["c1"]
        await harness.end("c1")

    run(scene())


def test_no_more_wait_than_may_and_of_one_tenant_half_of_them() -> None:
    async def scene() -> None:
        harness = ComputeHarness(1)
        await harness.ask("first")
        for number in range(MAX_WAITING // 2):
            await harness.ask(f"waiting {number}")
        with acting_for("a"), pytest.raises(ComputationsFull, match="of one tenant"):
            async with harness.places.acquire(is_prediction=True):
                pass
        await harness.ask("other", predicts=True, tenant="b")
        for number in range(MAX_WAITING // 2):
            await harness.end(f"waiting {number}", leave=True)
        await harness.end("first")
        assert harness.working == ["other"]
        await harness.end("other")

    run(scene())


def test_nobody_waits_for_ever() -> None:
    async def scene() -> None:
        harness = ComputeHarness(1, patience=0.01)
        await harness.ask("first")
        with pytest.raises(ComputationsFull, match=r"for 0\.01 s"):
            async with harness.places.acquire(is_prediction=True):
                pass
        await harness.end("first")
        await harness.ask("second")
        assert harness.working == ["second"]
        await harness.end("second")

    run(scene())
