import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.domain.errors import ApiError, SessionsFull, StepRefused
from app.domain.frames import Answered, Step
from app.domain.session import SessionRecord, SessionState
from app.store.pages import PageRequest
from tests.app.service.session_bureau import Answer, Bureau


def test_a_paused_session_takes_no_steps_until_it_is_resumed(bureau: Bureau) -> None:
    session = bureau.create()
    bureau.run(session.id)
    assert asyncio.run(bureau.sessions.pause(session.id)).session.state is SessionState.PAUSED
    assert bureau.worker_pool.rested == [session.id]
    with pytest.raises(StepRefused) as refused:
        bureau.run(session.id)
    assert refused.value.code == "session_paused"
    assert refused.value.extensions == {"expected_seq": 2}
    assert asyncio.run(bureau.sessions.resume(session.id)).session.state is SessionState.ACTIVE
    bureau.run(session.id)


def test_a_closed_session_is_gone_but_for_its_record(bureau: Bureau) -> None:
    session = bureau.create()
    bureau.folders.create(session.id)
    for _ in range(2):
        closed = asyncio.run(bureau.sessions.close(session.id)).session
        assert (closed.state, closed.finished_at) == (SessionState.CLOSED, bureau.clock.now())
    assert session.id in bureau.worker_pool.ended
    assert not bureau.folders.path(session.id).exists()
    acts: list[Callable[[], Awaitable[Any]]] = [
        lambda: bureau.sessions.execute(session.id, Step("req", "zero_grad", {})),
        lambda: bureau.sessions.pause(session.id),
        lambda: bureau.sessions.resume(session.id),
    ]
    for act in acts:
        with pytest.raises(StepRefused) as refused:
            asyncio.run(await_(act))
        assert refused.value.code == "session_closed"
    assert [view.session.id for view in bureau.sessions.list(PageRequest(), SessionState.CLOSED).items] == [session.id]


async def await_(act: Callable[[], Awaitable[Any]]) -> Any:
    return await act()


def test_a_session_that_is_not_used_expires_with_a_last_checkpoint(bureau: Bureau) -> None:
    session, used = bureau.create(ttl_seconds=60.0), bureau.create(ttl_seconds=60.0)
    bureau.folders.create(session.id)
    bureau.clock.advance(59.0)
    bureau.run(used.id)
    asyncio.run(bureau.sessions.expire())
    assert bureau.stored(session.id).state is SessionState.ACTIVE
    bureau.clock.advance(1.0)
    asyncio.run(bureau.sessions.expire())
    expired = bureau.stored(session.id)
    assert expired.state is SessionState.EXPIRED
    assert bureau.stored(used.id).state is SessionState.ACTIVE
    assert expired.checkpoint_id is not None
    with bureau.store.begin() as work:
        saved = work.checkpoints.get(expired.checkpoint_id)
    assert (saved.session_id, saved.deleted) == (session.id, False)
    assert bureau.worker_pool.ended == [session.id]
    assert not bureau.folders.path(session.id).exists()
    with pytest.raises(StepRefused, match=saved.id) as refused:
        bureau.run(session.id)
    assert refused.value.code == "session_expired"


def test_a_session_that_cannot_be_saved_now_expires_later_by_the_same_step(bureau: Bureau) -> None:
    session = bureau.create(ttl_seconds=60.0)
    bureau.clock.advance(60.0)

    def busy(_step: Step) -> Answered:
        raise SessionsFull("all processes are at work")

    bureau.worker_pool.answer = busy
    asyncio.run(bureau.sessions.expire())
    assert bureau.stored(session.id).state is SessionState.ACTIVE
    bureau.worker_pool.answer = None
    bureau.clock.advance(5.0)
    asyncio.run(bureau.sessions.expire())
    assert bureau.stored(session.id).state is SessionState.EXPIRED
    assert len({step.id for step in bureau.worker_pool.steps}) == 1


def test_no_step_gets_between_the_last_checkpoint_and_the_end(bureau: Bureau) -> None:
    session = bureau.create(ttl_seconds=60.0)
    bureau.clock.advance(60.0)
    refused: list[ApiError] = []
    plain = bureau.worker_pool.execute

    async def execute(record: SessionRecord, step: Step, body: bytes) -> Answer:
        if step.verb == "save":
            with pytest.raises(StepRefused) as caught:
                await bureau.sessions.execute(session.id, Step("req", "zero_grad", {}))
            refused.append(caught.value)
        return await plain(record, step, body)

    bureau.worker_pool.execute = execute  # type: ignore[method-assign]  # a step comes while it is saved
    asyncio.run(bureau.sessions.expire())
    assert [error.code for error in refused] == ["session_expired"]


def test_when_a_session_was_used_is_written_down_about_once_a_minute(bureau: Bureau) -> None:
    session = bureau.create()
    changes: list[str] = []
    bureau.store.on_change(changes.append)
    for _ in range(30):
        bureau.clock.advance(10.0)
        bureau.run(session.id)
    assert bureau.sessions.get(session.id).session.used_at == bureau.clock.now()
    assert 4 <= len(changes) <= 6


def test_to_wake_a_session_starts_a_process_unless_it_is_paused(bureau: Bureau) -> None:
    session, paused = bureau.create(), bureau.create(start_paused=True)
    for each in (session, paused):
        assert asyncio.run(bureau.sessions.wake(each.id)).session == each
    assert bureau.worker_pool.woken == [session.id]
