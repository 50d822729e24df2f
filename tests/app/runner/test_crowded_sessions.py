"""Processes of sessions where there is not memory for all, and beside fits."""

import asyncio

import pytest

from app.domain.errors import SessionsFull
from app.domain.frames import StepReply
from app.service.resources.memory import MemoryPool
from tests.support.session_pool_harness import OpenHarness, play

# So much that what other processes of this machine hold does not count beside it.
BUDGET = 10**15
HALF = BUDGET // 2


def test_where_memory_is_short_the_process_that_was_idle_for_longest_makes_way(open_harness: OpenHarness) -> None:
    memory_pool = MemoryPool(BUDGET)
    harness = open_harness(memory_pool=memory_pool)
    sessions = [harness.session(f"sess_{number}", memory_bytes=HALF) for number in range(1, 4)]

    async def act() -> None:
        for session in sessions:
            answered, _ = await harness.pool.execute(session, harness.step(), b"")
            assert isinstance(answered, StepReply)
        assert [harness.pool.status(session.id).process for session in sessions] == [None, "ready", "ready"]
        assert memory_pool.reserved == BUDGET
        busy = [asyncio.create_task(harness.pool.execute(s, harness.step("slow"), b"")) for s in sessions[1:]]
        await harness.until(lambda: [len(player.heard) for player in harness.runner.players[1:]] == [2, 2])
        with pytest.raises(SessionsFull, match=f"about {HALF} bytes of memory") as refused:
            await harness.pool.execute(sessions[0], harness.step(), b"")
        assert refused.value.code == "memory_full"
        assert refused.value.headers["Retry-After"]
        harness.runner.released.set()
        await asyncio.gather(*busy)
        answered, _ = await harness.pool.execute(sessions[0], harness.step(), b"")
        assert isinstance(answered, StepReply)
        await harness.pool.end("sess_1")
        assert memory_pool.reserved == HALF

    play(harness, act)
    assert memory_pool.reserved == 0


def test_a_process_that_dies_gives_its_memory_back_unless_another_goes_on_in_its_place(
    open_harness: OpenHarness,
) -> None:
    memory_pool = MemoryPool(BUDGET)
    harness = open_harness(memory_pool=memory_pool)
    session = harness.session(memory_bytes=HALF)

    async def act() -> None:
        await harness.pool.execute(session, harness.step("die"), b"")
        assert len(harness.runner.players) == 4
        assert memory_pool.reserved == HALF
        await harness.pool.suspend(session.id)
        assert memory_pool.reserved == 0

    play(harness, act)


def test_processes_that_idle_make_way_for_nobody_if_that_does_not_help(open_harness: OpenHarness) -> None:
    memory_pool = MemoryPool(BUDGET)
    harness = open_harness(memory_pool=memory_pool)
    idle, session = harness.session(memory_bytes=HALF // 2), harness.session("sess_2", memory_bytes=HALF + 1)
    assert memory_pool.reserve_fit("fit_1", HALF)

    async def act() -> None:
        await harness.pool.execute(idle, harness.step(), b"")
        for _ in range(2):
            with pytest.raises(SessionsFull):
                await harness.pool.wake(session)
        assert harness.pool.status(idle.id).process == "ready"
        memory_pool.release_fit("fit_1")
        await harness.pool.wake(session)

    play(harness, act)


def test_an_idle_process_rests_sooner_while_a_fit_waits_for_memory(open_harness: OpenHarness) -> None:
    memory_pool = MemoryPool(BUDGET)
    harness = open_harness(memory_pool=memory_pool, session_idle_seconds=0.2, step_seconds=0.2)
    session = harness.session(memory_bytes=HALF)
    assert not memory_pool.reserve_fit("fit_1", BUDGET + 1)

    async def act() -> None:
        with pytest.raises(SessionsFull):
            await harness.pool.execute(session, harness.step(), b"")
        memory_pool.clear_waiting_fit()
        await harness.pool.execute(session, harness.step(), b"")
        memory_pool.reserve_fit("fit_1", BUDGET)
        assert harness.pool._idle_timeout() == pytest.approx(0.05)
        await harness.until(lambda: harness.pool.status(session.id).process is None)
        assert memory_pool.reserve_fit("fit_1", BUDGET)

    play(harness, act)
