"""The supervisor, with processes that the test plays: fits that wait for memory."""

from app.domain.messages import Finished, Started
from app.service.resources.memory import MemoryPool
from tests.support.in_memory_runner import InMemoryRunner

from .conftest import Workshop

BUDGET = 10**9


def test_a_fit_waits_until_the_process_of_another_is_gone_for_good(workshop: Workshop, runner: InMemoryRunner) -> None:
    for number in (1, 2):
        workshop.submit(f"fit_{number}", memory_bytes=BUDGET * 6 // 10)
    runner.ignores_kill = True
    workshop.supervisor(runner, room=MemoryPool(BUDGET), workers=4)
    first = runner.await_start()
    workshop.until(lambda: workshop.fit("fit_2").phase == "waiting_for_memory")
    assert [event["code"] for event in workshop.events("log", "fit_2")] == ["memory_full"]
    runner.report(first, Started(1), Finished("succeeded"))
    workshop.until_state("succeeded")
    runner.await_kill(first)
    assert len(runner.assignments) == 1
    runner.end(first, "finished")
    assert runner.await_start(2).owner_id == "fit_2"
    assert workshop.states("fit_2") == ["queued", "starting"]


def test_a_fit_that_the_machine_cannot_hold_any_more_fails_and_others_go_on(
    workshop: Workshop, runner: InMemoryRunner
) -> None:
    workshop.submit("fit_1", memory_bytes=10**18)
    workshop.submit("fit_2", memory_bytes=1)
    workshop.supervisor(runner, room=MemoryPool(BUDGET), workers=1)
    assert runner.await_start().owner_id == "fit_2"
    fit = workshop.until_state("failed", "fit_1")
    assert fit.error is not None
    assert fit.error["code"] == "memory_exceeded"
    assert workshop.outcomes("fit_1") == ["memory_exceeded"]


def test_a_fit_begins_when_the_process_of_a_session_leaves_its_memory(
    workshop: Workshop, runner: InMemoryRunner
) -> None:
    room = MemoryPool(BUDGET)
    assert room.reserve_session("sess_1", BUDGET)
    workshop.submit(memory_bytes=1)
    workshop.supervisor(runner, room=room)
    workshop.until(lambda: workshop.fit().phase == "waiting_for_memory")
    room.release_session("sess_1")
    runner.await_start()


def test_memory_is_given_back_by_an_attempt_that_could_not_begin(workshop: Workshop, runner: InMemoryRunner) -> None:
    room = MemoryPool(BUDGET)
    workshop.submit("fit_1", dataset="ds_gone", memory_bytes=BUDGET)
    workshop.submit("fit_2", memory_bytes=BUDGET)
    workshop.supervisor(runner, room=room)
    assert runner.await_start().owner_id == "fit_2"
    workshop.until_state("failed", "fit_1")
    assert room.reserved == BUDGET
