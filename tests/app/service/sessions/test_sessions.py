import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.domain.errors import ApiError, SessionsFull, StepRefused
from app.domain.frames import Step, StepReply
from app.domain.session import SessionRecord, SessionState
from app.store.lists import Filters
from app.store.pages import PageRequest
from tests.support.sessions_harness import Answer, SessionsHarness


def test_a_paused_session_takes_no_steps_until_it_is_resumed(harness: SessionsHarness) -> None:
    session = harness.create()
    harness.run(session.id)
    assert asyncio.run(harness.sessions.pause(session.id)).session.state is SessionState.PAUSED
    assert harness.worker_pool.rested == [session.id]
    with pytest.raises(StepRefused) as refused:
        harness.run(session.id)
    assert refused.value.code == "session_paused"
    assert refused.value.extensions == {"expected_seq": 2}
    assert asyncio.run(harness.sessions.resume(session.id)).session.state is SessionState.ACTIVE
    harness.run(session.id)


def test_a_closed_session_is_gone_but_for_its_record(harness: SessionsHarness) -> None:
    session = harness.create()
    harness.folders.create(session.id)
    for _ in range(2):
        closed = asyncio.run(harness.sessions.close(session.id)).session
        assert (closed.state, closed.finished_at) == (SessionState.CLOSED, harness.clock.now())
    assert session.id in harness.worker_pool.ended
    assert not harness.folders.path(session.id).exists()
    acts: list[Callable[[], Awaitable[Any]]] = [
        lambda: harness.sessions.execute(session.id, Step("req", "zero_grad", {})),
        lambda: harness.sessions.pause(session.id),
        lambda: harness.sessions.resume(session.id),
    ]
    for act in acts:
        with pytest.raises(StepRefused) as refused:
            asyncio.run(await_(act))
        assert refused.value.code == "session_closed"
    closed = harness.sessions.list(PageRequest(), Filters(state=SessionState.CLOSED)).items
    assert [view.session.id for view in closed] == [session.id]


async def await_(act: Callable[[], Awaitable[Any]]) -> Any:
    return await act()


def test_a_session_that_is_not_used_expires_with_a_last_checkpoint(harness: SessionsHarness) -> None:
    session, used = harness.create(ttl_seconds=60.0), harness.create(ttl_seconds=60.0)
    harness.folders.create(session.id)
    harness.clock.advance(59.0)
    harness.run(used.id)
    asyncio.run(harness.sessions.expire())
    assert harness.stored(session.id).state is SessionState.ACTIVE
    harness.clock.advance(1.0)
    asyncio.run(harness.sessions.expire())
    expired = harness.stored(session.id)
    assert expired.state is SessionState.EXPIRED
    assert harness.stored(used.id).state is SessionState.ACTIVE
    assert expired.checkpoint_id is not None
    with harness.store.begin() as work:
        saved = work.checkpoints.get(expired.checkpoint_id)
    assert (saved.session_id, saved.deleted) == (session.id, False)
    assert harness.worker_pool.ended == [session.id]
    assert not harness.folders.path(session.id).exists()
    with pytest.raises(StepRefused, match=saved.id) as refused:
        harness.run(session.id)
    assert refused.value.code == "session_expired"


def test_a_session_that_cannot_be_saved_now_expires_later_by_the_same_step(harness: SessionsHarness) -> None:
    session = harness.create(ttl_seconds=60.0)
    harness.clock.advance(60.0)

    def busy(_step: Step) -> StepReply:
        raise SessionsFull("all processes are at work")

    harness.worker_pool.answer = busy
    asyncio.run(harness.sessions.expire())
    assert harness.stored(session.id).state is SessionState.ACTIVE
    harness.worker_pool.answer = None
    harness.clock.advance(5.0)
    asyncio.run(harness.sessions.expire())
    assert harness.stored(session.id).state is SessionState.EXPIRED
    assert len({step.id for step in harness.worker_pool.steps}) == 1


def test_no_step_gets_between_the_last_checkpoint_and_the_end(harness: SessionsHarness) -> None:
    session = harness.create(ttl_seconds=60.0)
    harness.clock.advance(60.0)
    refused: list[ApiError] = []
    plain = harness.worker_pool.execute

    async def execute(record: SessionRecord, step: Step, body: bytes) -> Answer:
        if step.verb == "save":
            with pytest.raises(StepRefused) as caught:
                await harness.sessions.execute(session.id, Step("req", "zero_grad", {}))
            refused.append(caught.value)
        return await plain(record, step, body)

    harness.worker_pool.execute = execute  # type: ignore[method-assign]  # a step comes while it is saved
    asyncio.run(harness.sessions.expire())
    assert [error.code for error in refused] == ["session_expired"]


def test_when_a_session_was_used_is_written_down_about_once_a_minute(harness: SessionsHarness) -> None:
    session = harness.create()
    changes: list[str] = []
    harness.store.on_change(changes.append)
    for _ in range(30):
        harness.clock.advance(10.0)
        harness.run(session.id)
    assert harness.sessions.get(session.id).session.used_at == harness.clock.now()
    assert 4 <= len(changes) <= 6


def test_to_wake_a_session_starts_a_process_unless_it_is_paused(harness: SessionsHarness) -> None:
    session, paused = harness.create(), harness.create(start_paused=True)
    for each in (session, paused):
        assert asyncio.run(harness.sessions.wake(each.id)).session == each
    assert harness.worker_pool.woken == [session.id]
