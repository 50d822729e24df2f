import asyncio
from dataclasses import replace
from functools import partial

import pytest

from app.domain.errors import (
    ApiError,
    Draining,
    ProcessLost,
    SessionElsewhere,
    SessionsFull,
    StepRefused,
    StorageFailed,
    StorageUnavailable,
)
from app.domain.frames import Step, StepAccepted, StepReply
from app.domain.messages import Failed, Log, NumericsChanged, Phase
from app.domain.session import SessionState
from app.runner.session_queue import MAX_QUEUED_STEPS
from app.service.sessions.session_storage import SessionStorage
from app.service.sessions.state import KernelCount
from tests.support.session_pool_harness import OpenHarness, play


def test_the_first_step_starts_a_process_and_all_are_answered_in_their_order(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session()
    assert harness.pool.status("sess_1").process is None

    async def act() -> None:
        steps = [harness.step() for _ in range(20)]
        answers = await asyncio.gather(*(harness.pool.execute(session, step, step.id.encode()) for step in steps))
        assert [head.seq for head, _ in answers if isinstance(head, StepReply)] == [*range(1, 21)]
        assert [body for _, body in answers] == [step.id.encode() for step in steps]
        # What it says of itself comes another way than its answers.
        await harness.until(lambda: harness.pool.status("sess_1").pid is not None)
        status = harness.pool.status("sess_1")
        assert (status.process, status.pid, status.next_seq) == ("ready", 4001, 21)
        (worker,) = harness.supervisor.workers()
        assert (worker.session_id, worker.fit_id, worker.pid, worker.attempt) == ("sess_1", None, 4001, 1)

    play(harness, act)
    assert harness.stored().attempt == 1
    assert harness.folders.path("sess_1").is_dir()


def test_a_large_body_goes_down_the_line_in_pieces(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session, body = harness.session(), bytes(range(256)) * 40_000

    async def act() -> None:
        answers = await asyncio.gather(*(harness.pool.execute(session, harness.step(), body) for _ in range(3)))
        assert all(answer == body for _, answer in answers)

    play(harness, act)


def test_what_a_lost_process_has_not_answered_is_sent_to_the_next_in_turn(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session()

    async def act() -> None:
        await harness.pool.execute(session, harness.step(), b"")
        steps = [harness.step("slow"), harness.step(seq=4), harness.step(seq=3), harness.step()]
        answers = asyncio.gather(*(harness.pool.execute(session, step, b"") for step in steps))
        await harness.until(lambda: len(harness.runner.players[0].heard) == 2)
        harness.runner.kill(harness.runner.players[0].handle)
        await harness.until(lambda: len(harness.runner.players) == 2 and harness.runner.players[1].heard != [])
        # One at a time, and none before the one that it would wait for.
        assert harness.runner.players[1].heard == ["step 2"]
        harness.runner.released.set()
        await answers
        assert harness.runner.players[1].heard == ["step 2", "step 4", "step 3", "step 5"]
        await harness.pool.execute(session, harness.step(), b"")
        assert len(harness.runner.players) == 2

    play(harness, act)


def test_a_step_that_three_processes_die_of_is_refused_and_the_session_goes_on(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session()

    async def act() -> None:
        answered, _ = await harness.pool.execute(session, Step("deadly", "die", {}), b"")
        assert isinstance(answered, StepReply)
        assert answered.error is not None
        assert "3 processes of the session ended while they executed this step and no other" in answered.error["detail"]
        assert "it was so" in answered.error["detail"]
        assert [each.poison for each in harness.runner.sessions.values()] == [None, None, None, "deadly"]
        assert [each.starved for each in harness.runner.sessions.values()] == [False, False, False, True]
        answered, _ = await harness.pool.execute(session, harness.step(), b"")
        assert isinstance(answered, StepReply)
        assert answered.seq == 2
        assert len(harness.runner.players) == 4

    play(harness, act)


KILLED = {"of": "killed"}


def test_a_step_whose_processes_are_killed_from_outside_may_be_sent_again(open_harness: OpenHarness) -> None:
    harness = open_harness(kills=0)
    session = harness.session()

    async def act() -> None:
        with pytest.raises(ProcessLost, match=r"6 processes .* died in a row, the last one: it was so; find out who"):
            await harness.pool.execute(session, Step("unlucky", "die", KILLED), b"")
        assert {each.poison for each in harness.runner.sessions.values()} == {None}
        answered, _ = await harness.pool.execute(session, Step("unlucky", "count", {}), b"")
        assert isinstance(answered, StepReply)
        assert answered.error is None

    play(harness, act)


def test_a_step_is_not_blamed_for_lost_nodes(open_harness: OpenHarness) -> None:
    harness = open_harness(kills=None)
    session = harness.session()

    async def act() -> None:
        with pytest.raises(ProcessLost, match="6 processes"):
            await harness.pool.execute(session, Step("unlucky", "die", {"of": "node_lost"}), b"")
        assert {each.poison for each in harness.runner.sessions.values()} == {None}

    play(harness, act)


@pytest.mark.parametrize(("reason", "error"), [("no_node", SessionsFull), ("not_stored", StorageFailed)])
def test_a_session_without_a_node_or_storage_refuses_its_steps_for_now(
    open_harness: OpenHarness, reason: str, error: type[ApiError]
) -> None:
    harness = open_harness()
    session = harness.session()

    async def act() -> None:
        with pytest.raises(error, match="it was so"):
            await harness.pool.execute(session, Step("refused", "die", {"of": reason}), b"")
        assert len(harness.runner.players) == 1
        answered, _ = await harness.pool.execute(session, Step("refused", "count", {}), b"")
        assert isinstance(answered, StepReply)
        assert answered.error is None

    play(harness, act)


def test_a_step_is_not_blamed_for_what_others_died_of_in_the_same_second(open_harness: OpenHarness) -> None:
    harness = open_harness()
    sessions = [harness.session("sess_1"), harness.session("sess_2")]

    async def act() -> None:
        both = asyncio.gather(
            *(harness.pool.execute(each, Step(f"of {each.id}", "hang", {}), b"") for each in sessions),
            return_exceptions=True,
        )
        for times in range(6):
            started = 2 * (times + 1)
            await harness.until(
                partial(lambda wanted: sum(bool(p.heard) for p in harness.runner.players) == wanted, started)
            )
            for player in harness.runner.players[-2:]:
                harness.runner.end(player.handle, "killed", "it was killed")
                player.line.close()
        answers = await both
        assert [type(answer) for answer in answers] == [ProcessLost, ProcessLost]
        assert all("of other sessions and fits ended in the same second" in str(answer) for answer in answers)
        assert {each.poison for each in harness.runner.sessions.values()} == {None}

    play(harness, act)


def test_a_step_is_blamed_where_the_system_does_not_say_whether_it_was_short_of_memory(
    open_harness: OpenHarness,
) -> None:
    harness = open_harness(kills=None)
    session = harness.session()

    async def act() -> None:
        answered, _ = await harness.pool.execute(session, Step("deadly", "die", KILLED), b"")
        assert isinstance(answered, StepReply)
        assert answered.error is not None
        assert answered.error["code"] == "step_lost_worker"

    play(harness, act)


def test_one_deadly_step_among_others_is_found(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session()

    async def act() -> None:
        await harness.pool.execute(session, harness.step(), b"")
        steps = [harness.step(), harness.step("slow"), harness.step("die"), harness.step()]
        answers = asyncio.gather(*(harness.pool.execute(session, step, b"") for step in steps))
        await harness.until(lambda: "step 3" in harness.runner.players[0].heard)
        harness.runner.released.set()
        heads = [head for head, _ in await answers]
        errors = [head.error["code"] if isinstance(head, StepReply) and head.error else None for head in heads]
        assert errors == [None, None, "step_lost_worker", None]

    play(harness, act)


def test_when_processes_die_before_they_are_ready_waiting_requests_fail_and_may_be_retried(
    open_harness: OpenHarness,
) -> None:
    harness = open_harness()
    session = harness.session()
    harness.runner.dies_at_start = True

    async def act() -> None:
        with pytest.raises(ProcessLost, match="died in a row"):
            await harness.pool.execute(session, harness.step(), b"")
        harness.runner.dies_at_start = False
        answered, _ = await harness.pool.execute(session, harness.step(), b"")
        assert isinstance(answered, StepReply)

    play(harness, act)


def test_a_step_that_takes_too_long_is_cut_short_and_refused(open_harness: OpenHarness) -> None:
    harness = open_harness(step_seconds=0.2)
    session = harness.session()

    async def act() -> None:
        answered, _ = await harness.pool.execute(session, Step("endless", "hang", {}), b"")
        assert isinstance(answered, StepReply)
        assert answered.error is not None
        # On a busy machine the process that refuses it may take too long as well, and is replaced by another one.
        first, *later = [each.poison for each in harness.runner.sessions.values()]
        assert first is None
        assert set(later) == {"endless"}

    play(harness, act)


def test_when_all_processes_are_taken_the_one_that_was_idle_for_longest_rests(open_harness: OpenHarness) -> None:
    harness = open_harness(session_workers=2)
    sessions = [harness.session(f"sess_{number}") for number in range(1, 5)]

    async def act() -> None:
        for session in sessions[:3]:
            await harness.pool.execute(session, harness.step(), b"")
        assert [harness.pool.status(session.id).process for session in sessions[:3]] == [None, "ready", "ready"]
        assert [handle.owner_id for handle in harness.runner.stopped] == ["sess_1"]
        busy = [asyncio.create_task(harness.pool.execute(s, harness.step("slow"), b"")) for s in sessions[1:3]]
        await harness.until(
            lambda: sum("slow" in str(p.heard) or len(p.heard) == 2 for p in harness.runner.players) == 2
        )
        with pytest.raises(SessionsFull, match="all 2 session processes"):
            await harness.pool.execute(sessions[3], harness.step(), b"")
        harness.runner.released.set()
        await asyncio.gather(*busy)
        # What it has done before it rested it still knows.
        answered, _ = await harness.pool.execute(sessions[0], harness.step(), b"")
        assert isinstance(answered, StepReply)
        assert answered.seq == 2

    play(harness, act)


def test_an_idle_process_rests_and_the_next_step_wakes_another(open_harness: OpenHarness) -> None:
    harness = open_harness(session_idle_seconds=0.05)
    session = harness.session()

    async def act() -> None:
        await harness.pool.execute(session, harness.step(), b"")
        await harness.until(lambda: harness.pool.status("sess_1").process is None)
        assert harness.pool.status("sess_1").next_seq == 2
        answered, _ = await harness.pool.execute(session, harness.step(), b"")
        assert isinstance(answered, StepReply)
        assert answered.seq == 2
        assert len(harness.runner.players) == 2

    play(harness, act)


def test_a_process_rests_only_after_it_has_answered(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session()

    async def act() -> None:
        slow = asyncio.create_task(harness.pool.execute(session, harness.step("slow"), b""))
        await harness.until(lambda: bool(harness.runner.players and harness.runner.players[0].heard))
        resting = asyncio.create_task(harness.pool.suspend("sess_1"))
        await asyncio.sleep(0.01)
        assert not resting.done()
        harness.runner.released.set()
        await resting
        assert slow.done()
        assert harness.pool.status("sess_1").process is None
        await harness.pool.suspend("sess_1")
        await harness.pool.suspend("sess_9")

    play(harness, act)


def test_to_wake_is_to_have_a_process_that_shows_where_the_session_is(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session()

    async def act() -> None:
        await harness.pool.wake(session)
        assert harness.pool.status("sess_1").next_seq == 1
        await harness.pool.wake(session)
        assert len(harness.runner.players) == 1

    play(harness, act)


def test_more_steps_than_may_wait_are_refused(open_harness: OpenHarness) -> None:
    harness = open_harness(max_step_bytes=1024)
    session, other = harness.session(), harness.session("sess_2")

    async def act() -> None:
        steps = [harness.step("slow"), *(harness.step() for _ in range(MAX_QUEUED_STEPS - 1))]
        tasks = [asyncio.create_task(harness.pool.execute(session, step, b"")) for step in steps]
        await asyncio.sleep(0)
        with pytest.raises(SessionsFull, match=f"at most {MAX_QUEUED_STEPS} steps") as refused:
            await harness.pool.execute(session, harness.step(), b"")
        assert refused.value.headers["Retry-After"]
        large = asyncio.create_task(harness.pool.execute(other, harness.step("slow"), bytes(2000)))
        await asyncio.sleep(0)
        with pytest.raises(SessionsFull, match="bytes"):
            await harness.pool.execute(other, harness.step(), bytes(100))
        harness.runner.released.set()
        await asyncio.gather(large, *tasks)

    play(harness, act)


def test_a_client_that_goes_away_does_not_stop_its_step(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session()

    async def act() -> None:
        task = asyncio.create_task(harness.pool.execute(session, harness.step(), b""))
        await asyncio.sleep(0)
        task.cancel()
        await harness.until(lambda: "sess_1" in harness.runner.kept and len(harness.runner.kept["sess_1"].order) == 1)

    play(harness, act)


def test_a_step_may_be_accepted_before_it_is_done(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session()

    async def act() -> None:
        accepted, body = await harness.pool.execute(session, harness.step(notify=True), b"long")
        assert (accepted, body) == (StepAccepted("step 1", 1), b"")
        answered, _ = await harness.pool.execute(session, harness.step(), b"")
        assert isinstance(answered, StepReply)

    play(harness, act)


def test_what_a_process_shows_of_itself_is_written_down(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session()
    runtime = {
        "executor": "numpy",
        "threads": 1,
        "threads_requested": None,
        "affinity": None,
        "niceness": 10,
        "fingerprint": {"cpu": "x"},
    }
    harness.runner.first_words = [Phase("steps", runtime=runtime), NumericsChanged({"cpu": "y"}, {"cpu": "x"})]

    async def act() -> None:
        await harness.pool.execute(session, harness.step(), b"")
        await harness.until(lambda: harness.stored().runtime == runtime and not harness.stored().bit_exact)

    play(harness, act)


@pytest.mark.parametrize(("count", "shown"), [(3, KernelCount(3, 15)), (15, None)])
def test_kernels_that_a_process_waits_for_are_shown(
    open_harness: OpenHarness, count: int, shown: KernelCount | None
) -> None:
    harness = open_harness()
    session = harness.session()
    words = [Log("info", "", "compiling", each, 15) for each in (0, count)]
    harness.runner.first_words = [Phase("compiling"), *words, NumericsChanged({"cpu": "y"}, {"cpu": "x"})]

    async def act() -> None:
        await harness.pool.execute(session, harness.step(), b"")
        await harness.until(lambda: not harness.stored().bit_exact)
        assert harness.pool.status("sess_1").compiling == shown
        harness.runner.kill(harness.runner.players[0].handle)
        await harness.until(lambda: harness.pool.status("sess_1").process is None)
        assert harness.pool.status("sess_1").compiling is None

    play(harness, act)


def test_a_session_whose_process_cannot_go_on_has_failed(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session()
    harness.runner.dies_at_start = True
    harness.runner.first_words = [Failed("session_damaged", "record 7 of its log is damaged")]

    async def act() -> None:
        for _ in range(2):
            with pytest.raises(StepRefused) as refused:
                await harness.pool.execute(session, harness.step(), b"")
            assert refused.value.code == "session_failed"

    play(harness, act)
    stored = harness.stored()
    assert stored.state is SessionState.FAILED
    assert stored.error == {"code": "session_damaged", "detail": "record 7 of its log is damaged"}
    assert harness.folders.path("sess_1").is_dir()


@pytest.mark.parametrize("state", [SessionState.CLOSED, SessionState.EXPIRED, SessionState.FAILED])
def test_no_process_is_started_for_a_session_that_has_ended(state: SessionState, open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session(state=state)

    async def act() -> None:
        with pytest.raises(StepRefused) as refused:
            await harness.pool.execute(session, harness.step(), b"")
        assert refused.value.code == f"session_{state.value}"

    play(harness, act)
    assert harness.runner.players == []


def test_the_end_of_a_session_is_the_end_of_its_process_and_of_what_waits(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session()

    async def act() -> None:
        task = asyncio.create_task(harness.pool.execute(session, harness.step("hang"), b""))
        await harness.until(lambda: harness.pool.status("sess_1").process == "ready")
        await harness.pool.end("sess_1")
        with pytest.raises(StepRefused) as refused:
            await task
        assert refused.value.code == "session_closed"
        assert [handle.owner_id for handle in harness.runner.killed] == ["sess_1"]
        assert harness.supervisor.workers() == []
        await harness.pool.end("sess_1")

    play(harness, act)


def test_a_step_that_comes_while_a_session_ends_is_refused(open_harness: OpenHarness) -> None:
    harness = open_harness()
    session = harness.session()

    async def act() -> None:
        await harness.pool.execute(session, harness.step(), b"")
        harness.runner.ignores_kill = True
        ending = asyncio.create_task(harness.pool.end("sess_1"))
        await harness.until(lambda: bool(harness.runner.killed))
        with pytest.raises(StepRefused) as refused:
            await harness.pool.execute(session, harness.step(), b"")
        assert refused.value.code == "session_closed"
        harness.runner.end(harness.runner.players[0].handle, "killed")
        await ending

    play(harness, act)


def test_at_the_end_what_is_in_progress_is_finished_and_everything_else_put_off(open_harness: OpenHarness) -> None:
    harness = open_harness(session_workers=1)
    session, other = harness.session(), harness.session("sess_2")

    async def act() -> None:
        slow = asyncio.create_task(harness.pool.execute(session, harness.step("slow"), b""))
        await harness.until(lambda: bool(harness.runner.players and harness.runner.players[0].heard))
        draining = asyncio.create_task(asyncio.to_thread(harness.pool.drain))
        await asyncio.sleep(0.02)
        with pytest.raises(Draining):
            await harness.pool.execute(other, harness.step(), b"")
        harness.runner.released.set()
        answered, _ = await slow
        assert isinstance(answered, StepReply)
        await draining
        await asyncio.to_thread(harness.supervisor.drain)
        assert [handle.owner_id for handle in harness.runner.stopped] == ["sess_1"]

    play(harness, act)


def test_what_is_not_finished_in_time_is_put_off(open_harness: OpenHarness) -> None:
    harness = open_harness(drain_seconds=0.05)
    session = harness.session()

    async def act() -> None:
        hung = asyncio.create_task(harness.pool.execute(session, harness.step("hang"), b""))
        await harness.until(lambda: bool(harness.runner.players and harness.runner.players[0].heard))
        await asyncio.to_thread(harness.pool.drain)
        await asyncio.to_thread(harness.supervisor.drain)
        with pytest.raises(Draining):
            await hung

    play(harness, act)


def test_replies_are_refused_while_steps_cannot_be_stored_and_come_when_they_are_sent_again(
    open_harness: OpenHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = open_harness(shares=True)
    session = harness.session()

    def refuse(_: SessionStorage, _session_id: str, _attempt: int) -> None:
        raise StorageUnavailable("it is away")

    async def act() -> None:
        await harness.pool.execute(session, harness.step(), b"")
        step = harness.step()
        with monkeypatch.context() as away:
            away.setattr(SessionStorage, "store", refuse)
            with pytest.raises(StorageUnavailable):
                await harness.pool.execute(session, step, b"")
        answered, _ = await harness.pool.execute(session, step, b"")
        assert isinstance(answered, StepReply)
        assert (answered.seq, answered.replayed) == (2, True)
        assert len(harness.runner.players) == 1

    play(harness, act)


def test_a_process_whose_session_another_server_runs_is_ended_and_answers_nobody(open_harness: OpenHarness) -> None:
    harness = open_harness(shares=True)
    session = harness.session()

    async def act() -> None:
        await harness.pool.execute(session, harness.step(), b"")
        assert harness.folders.path("sess_1").is_dir()
        with harness.store.begin() as work:
            stored = work.sessions.get("sess_1")
            work.sessions.update(replace(stored, attempt=stored.attempt + 1))
        with pytest.raises(SessionElsewhere, match="goes on at another server"):
            await harness.pool.execute(session, harness.step(), b"")
        await harness.until(lambda: harness.pool.status("sess_1").process is None)
        assert not harness.folders.path("sess_1").exists()
        await harness.pool.execute(session, harness.step(), b"")  # here, once it may be
        assert [each.attempt for each in harness.runner.sessions.values()] == [1, 3]

    play(harness, act)
