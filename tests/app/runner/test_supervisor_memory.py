"""The supervisor, with processes that the test plays: fits that wait for memory."""

from app.domain.messages import Finished, Started
from app.service.resources.memory import MemoryPool
from tests.support.in_memory_runner import InMemoryRunner

from .conftest import SupervisorHarness

BUDGET = 10**9


def test_a_fit_waits_until_the_process_of_another_is_gone_for_good(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    for number in (1, 2):
        harness.submit(f"fit_{number}", memory_bytes=BUDGET * 6 // 10)
    runner.ignores_kill = True
    harness.supervisor(runner, memory_pool=MemoryPool(BUDGET), workers=4)
    first = runner.await_start()
    harness.until(lambda: harness.fit("fit_2").phase == "waiting_for_memory")
    assert [event["code"] for event in harness.events("log", "fit_2")] == ["memory_full"]
    runner.report(first, Started(1), Finished("succeeded"))
    harness.until_state("succeeded")
    runner.await_kill(first)
    assert len(runner.assignments) == 1
    runner.end(first, "finished")
    assert runner.await_start(2).owner_id == "fit_2"
    assert harness.states("fit_2") == ["queued", "starting"]


def test_a_fit_that_the_machine_cannot_hold_any_more_fails_and_others_go_on(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    harness.submit("fit_1", memory_bytes=10**18)
    harness.submit("fit_2", memory_bytes=1)
    harness.supervisor(runner, memory_pool=MemoryPool(BUDGET), workers=1)
    assert runner.await_start().owner_id == "fit_2"
    fit = harness.until_state("failed", "fit_1")
    assert fit.error is not None
    assert fit.error["code"] == "memory_exceeded"
    assert harness.outcomes("fit_1") == ["memory_exceeded"]


def test_a_fit_begins_when_the_process_of_a_session_leaves_its_memory(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    memory_pool = MemoryPool(BUDGET)
    assert memory_pool.reserve_session("sess_1", BUDGET)
    harness.submit(memory_bytes=1)
    harness.supervisor(runner, memory_pool=memory_pool)
    harness.until(lambda: harness.fit().phase == "waiting_for_memory")
    memory_pool.release_session("sess_1")
    runner.await_start()


def test_memory_is_given_back_by_an_attempt_that_could_not_begin(
    harness: SupervisorHarness, runner: InMemoryRunner
) -> None:
    memory_pool = MemoryPool(BUDGET)
    harness.submit("fit_1", dataset="ds_gone", memory_bytes=BUDGET)
    harness.submit("fit_2", memory_bytes=BUDGET)
    harness.supervisor(runner, memory_pool=memory_pool)
    assert runner.await_start().owner_id == "fit_2"
    harness.until_state("failed", "fit_1")
    assert memory_pool.reserved == BUDGET
