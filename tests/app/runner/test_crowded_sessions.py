"""Processes of sessions where there is not memory for all, and beside fits."""

import asyncio

import pytest

from app.domain.errors import SessionsFull
from app.domain.frames import Answered
from app.service.resources.memory import MemoryPool

from .session_stage import SetStage, play

# So much that what other processes of this machine hold does not count beside it.
BUDGET = 10**15
HALF = BUDGET // 2


def test_where_memory_is_short_the_process_that_was_idle_for_longest_makes_way(set_stage: SetStage) -> None:
    room = MemoryPool(BUDGET)
    stage = set_stage(room=room)
    sessions = [stage.session(f"sess_{number}", memory_bytes=HALF) for number in range(1, 4)]

    async def act() -> None:
        for session in sessions:
            answered, _ = await stage.crew.execute(session, stage.step(), b"")
            assert isinstance(answered, Answered)
        assert [stage.crew.status(session.id).process for session in sessions] == [None, "ready", "ready"]
        assert room.reserved == BUDGET
        busy = [asyncio.create_task(stage.crew.execute(s, stage.step("slow"), b"")) for s in sessions[1:]]
        await stage.until(lambda: [len(player.heard) for player in stage.runner.players[1:]] == [2, 2])
        with pytest.raises(SessionsFull, match=f"about {HALF} bytes of memory") as refused:
            await stage.crew.execute(sessions[0], stage.step(), b"")
        assert refused.value.code == "memory_full"
        assert refused.value.headers["Retry-After"]
        stage.runner.released.set()
        await asyncio.gather(*busy)
        answered, _ = await stage.crew.execute(sessions[0], stage.step(), b"")
        assert isinstance(answered, Answered)
        await stage.crew.end("sess_1")
        assert room.reserved == HALF

    play(stage, act)
    assert room.reserved == 0


def test_a_process_that_dies_gives_its_memory_back_unless_another_goes_on_in_its_place(set_stage: SetStage) -> None:
    room = MemoryPool(BUDGET)
    stage = set_stage(room=room)
    session = stage.session(memory_bytes=HALF)

    async def act() -> None:
        await stage.crew.execute(session, stage.step("die"), b"")
        assert len(stage.runner.players) == 4
        assert room.reserved == HALF
        await stage.crew.suspend(session.id)
        assert room.reserved == 0

    play(stage, act)


def test_processes_that_idle_make_way_for_nobody_if_that_does_not_help(set_stage: SetStage) -> None:
    room = MemoryPool(BUDGET)
    stage = set_stage(room=room)
    idle, session = stage.session(memory_bytes=HALF // 2), stage.session("sess_2", memory_bytes=HALF + 1)
    assert room.reserve_fit("fit_1", HALF)

    async def act() -> None:
        await stage.crew.execute(idle, stage.step(), b"")
        for _ in range(2):
            with pytest.raises(SessionsFull):
                await stage.crew.wake(session)
        assert stage.crew.status(idle.id).process == "ready"
        room.release_fit("fit_1")
        await stage.crew.wake(session)

    play(stage, act)


def test_an_idle_process_rests_sooner_while_a_fit_waits_for_memory(set_stage: SetStage) -> None:
    room = MemoryPool(BUDGET)
    stage = set_stage(room=room, session_idle_seconds=0.2, step_seconds=0.2)
    session = stage.session(memory_bytes=HALF)
    assert not room.reserve_fit("fit_1", BUDGET + 1)

    async def act() -> None:
        with pytest.raises(SessionsFull):
            await stage.crew.execute(session, stage.step(), b"")
        room.clear_waiting_fit()
        await stage.crew.execute(session, stage.step(), b"")
        room.reserve_fit("fit_1", BUDGET)
        assert stage.crew._idle_timeout() == pytest.approx(0.05)
        await stage.until(lambda: stage.crew.status(session.id).process is None)
        assert room.reserve_fit("fit_1", BUDGET)

    play(stage, act)
