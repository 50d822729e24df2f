"""Who gets a place to compute, and who has to wait."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import pytest

from app.domain.access import acting_for
from app.domain.errors import ComputationsFull
from app.runner.compute_slots import MAX_WAITING, ComputeSlots


class Stage:
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
        stage = Stage(2)
        for name in ("look 1", "look 2"):
            await stage.ask(name)
        assert stage.working == ["look 1"]
        await stage.ask("prediction", predicts=True)
        assert stage.working == ["look 1", "prediction"]
        await stage.end("prediction")
        assert stage.working == ["look 1"]
        await stage.end("look 1")
        assert stage.working == ["look 2"]
        await stage.end("look 2")

    run(scene())


def test_the_tenant_who_has_fewest_is_next_and_who_leaves_has_no_turn() -> None:
    async def scene() -> None:
        stage = Stage(2)
        for name, tenant in {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b"}.items():
            await stage.ask(name, predicts=True, tenant=tenant)
        assert stage.working == ["a1", "a2"]
        await stage.end("a1")
        assert stage.working == ["a2", "b1"]
        await stage.end("a3", leave=True)
        await stage.end("a2")
        assert stage.working == ["b1", "b2"]
        await stage.end("b1", leave=True)
        await stage.end("b2")
        await stage.ask("c1")
        assert stage.working == ["c1"]
        await stage.end("c1")

    run(scene())


def test_no_more_wait_than_may_and_of_one_tenant_half_of_them() -> None:
    async def scene() -> None:
        stage = Stage(1)
        await stage.ask("first")
        for number in range(MAX_WAITING // 2):
            await stage.ask(f"waiting {number}")
        with acting_for("a"), pytest.raises(ComputationsFull, match="of one tenant"):
            async with stage.places.acquire(is_prediction=True):
                pass
        await stage.ask("other", predicts=True, tenant="b")
        for number in range(MAX_WAITING // 2):
            await stage.end(f"waiting {number}", leave=True)
        await stage.end("first")
        assert stage.working == ["other"]
        await stage.end("other")

    run(scene())


def test_nobody_waits_for_ever() -> None:
    async def scene() -> None:
        stage = Stage(1, patience=0.01)
        await stage.ask("first")
        with pytest.raises(ComputationsFull, match=r"for 0\.01 s"):
            async with stage.places.acquire(is_prediction=True):
                pass
        await stage.end("first")
        await stage.ask("second")
        assert stage.working == ["second"]
        await stage.end("second")

    run(scene())
