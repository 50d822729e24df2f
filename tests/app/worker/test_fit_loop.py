import errno
import json
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from app.domain.errors import DatasetCorrupt, StorageFailed, StorageFull
from app.domain.fit import WAITS_FOR_STORAGE
from app.domain.messages import (
    Assignment,
    CheckpointWritten,
    Failed,
    Finished,
    GradientWritten,
    Log,
    Message,
    MetricRows,
    NumericsChanged,
    Phase,
)
from app.system.durable import Durable
from app.worker.fit_loop import OUTCOMES, run_fit, run_rank
from app.worker.reporter import Reporter
from engine.training.distributed.collective import in_memory
from tests.support.patience import PATIENCE

Assign = Callable[..., Assignment]
ALONE = engine.Alone()


@dataclass
class StopFlag:
    """Stands in for the control: the stop request from the `after`-th look on."""

    kind: Any = None
    after: int = 0
    looks: int = 0

    @property
    def stop_requested(self) -> Any:
        self.looks += 1
        return self.kind if self.looks > self.after else None


@pytest.fixture
def recorder(channel: Any) -> Reporter:
    return Reporter(channel)


def seqs(messages: list[Message]) -> list[int]:
    return [json.loads(row)["seq"] for message in messages if isinstance(message, MetricRows) for row in message.rows]


def written(messages: list[Message]) -> list[CheckpointWritten]:
    return [message for message in messages if isinstance(message, CheckpointWritten)]


def test_a_fit_is_carried_out_and_its_checkpoints_are_files(assign: Assign, recorder: Reporter, server: Any) -> None:
    assert run_fit(assign(), recorder, StopFlag(), ALONE) == Finished("succeeded")
    messages = server.heard()
    first = messages[0]
    assert isinstance(first, Phase)
    assert (first.phase, first.total_steps) == ("training", 6)
    assert first.runtime is not None
    assert first.runtime["executor"] == engine.executors()[-1]
    assert first.runtime["fingerprint"] == engine.fingerprint(engine.executors()[-1])
    assert seqs(messages) == [1, 2, 3, 4, 5, 6]
    assert [checkpoint.step for checkpoint in written(messages)] == [3, 6]
    for checkpoint in written(messages):
        path = Path(checkpoint.path)
        assert path.stat().st_size == checkpoint.size_bytes
        assert engine.Checkpoint.load(path).cursor["seq"] == checkpoint.metric_seq == checkpoint.step
        assert checkpoint.metrics["loss"] > 0
        assert {file.suffix for file in path.parent.iterdir()} == {".safetensors"}


def test_a_fit_reports_columns_whose_values_its_precision_does_not_distinguish(
    assign: Assign, recorder: Reporter, server: Any
) -> None:
    assignment = assign()
    np.save(assignment.columns["x"][0], np.array([[1.7e9, 1.0], [1.7e9 + 1.5, 2.0]] * 32))
    run_fit(assignment, recorder, StopFlag(), ALONE)
    run_fit(replace(assignment, attempt=2), recorder, StopFlag(), ALONE)
    run_fit(assign(precision="float64"), recorder, StopFlag(), ALONE)
    (log,) = [message for message in server.heard() if isinstance(message, Log) and message.code == "precision_lost"]
    assert log.level == "warning"
    assert log.text.startswith("input 'x' takes column 'x' as float32: 1 of 4 distinct values")


def test_rows_arrive_before_the_checkpoint_that_holds_their_steps(
    assign: Assign, recorder: Reporter, server: Any
) -> None:
    run_fit(assign(), recorder, StopFlag(), ALONE)
    messages = server.heard()
    for index, message in enumerate(messages):
        if isinstance(message, CheckpointWritten):
            assert max(seqs(messages[:index])) == message.metric_seq


@pytest.mark.parametrize(("kind", "outcome"), [("cancel", "cancelled"), ("drain", "drained")])
def test_a_fit_that_should_stop_writes_a_checkpoint_of_where_it_is(
    assign: Assign, recorder: Reporter, server: Any, kind: str, outcome: Any
) -> None:
    assert run_fit(assign(), recorder, StopFlag(kind, after=2), ALONE) == Finished(outcome)
    messages = server.heard()
    assert [checkpoint.step for checkpoint in written(messages)] == [2]
    assert seqs(messages) == [1, 2]


def test_a_fit_that_should_stop_before_it_began_writes_none(assign: Assign, recorder: Reporter, server: Any) -> None:
    assert run_fit(assign(), recorder, StopFlag("cancel"), ALONE) == Finished("cancelled")
    assert written(server.heard()) == []


def test_a_fit_that_is_done_when_it_should_stop_has_succeeded(assign: Assign, recorder: Reporter, server: Any) -> None:
    assert run_fit(assign(), recorder, StopFlag("cancel", after=6), ALONE) == Finished("succeeded")


def test_a_fit_goes_on_from_a_checkpoint_as_if_nothing_had_been(
    assign: Assign, recorder: Reporter, server: Any
) -> None:
    run_fit(assign(), recorder, StopFlag(), ALONE)
    whole = server.heard()
    first, last = written(whole)
    expected = Path(last.path).read_bytes()
    assert run_fit(assign(resume_from=first.path), recorder, StopFlag(), ALONE) == Finished("succeeded")
    rest = server.heard()
    assert seqs(rest) == [4, 5, 6]
    assert Path(written(rest)[-1].path).read_bytes() == expected
    assert not any(isinstance(message, Log) for message in rest)


def test_other_numerics_than_those_of_the_checkpoint_are_reported(
    assign: Assign, recorder: Reporter, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_fit(assign(), recorder, StopFlag(), ALONE)
    first = written(server.heard())[0]
    monkeypatch.setattr(engine, "fingerprint", lambda _: {"numpy": "99"})
    run_fit(assign(resume_from=first.path), recorder, StopFlag(), ALONE)
    (change,) = [message for message in server.heard() if isinstance(message, NumericsChanged)]
    assert change.before == engine.Checkpoint.load(Path(first.path)).meta["fingerprint"]
    assert change.now == {"numpy": "99"}


def rows_of(messages: list[Message]) -> list[dict[str, Any]]:
    return [json.loads(row) for message in messages if isinstance(message, MetricRows) for row in message.rows]


def test_a_fork_goes_on_where_the_other_fit_was_but_counts_its_rows_from_one(
    assign: Assign, recorder: Reporter, server: Any
) -> None:
    run_fit(assign(), recorder, StopFlag(), ALONE)
    whole = server.heard()
    first, last = written(whole)
    fork = replace(assign(resume_from=first.path), fork="all")
    assert run_fit(fork, recorder, StopFlag(), ALONE) == Finished("succeeded")
    forked = server.heard()
    assert [(row["seq"], row["step"]) for row in rows_of(forked)] == [(1, 4), (2, 5), (3, 6)]
    assert [row["values"] for row in rows_of(forked)] == [row["values"] for row in rows_of(whole)[3:]]
    (end,) = written(forked)
    assert (end.step, end.metric_seq) == (6, 3)
    ours, theirs = (engine.Checkpoint.load(Path(each.path)) for each in (end, last))
    assert ours.parameters["w"].tobytes() == theirs.parameters["w"].tobytes()


def test_a_fork_of_parameters_alone_begins_at_step_zero_and_under_any_numerics(
    assign: Assign, recorder: Reporter, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_fit(assign(), recorder, StopFlag(), ALONE)
    first, _ = written(server.heard())
    monkeypatch.setattr(engine, "fingerprint", lambda _: {"numpy": "99"})
    fork = replace(assign(resume_from=first.path, seed=9, steps=2), fork="parameters")
    assert run_fit(fork, recorder, StopFlag(), ALONE) == Finished("succeeded")
    messages = server.heard()
    assert [(row["seq"], row["step"]) for row in rows_of(messages)] == [(1, 1), (2, 2)]
    assert not any(isinstance(message, NumericsChanged) for message in messages)


LONGER = {"steps": 10, "optimizer": {"kind": "sgd", "lr": 0.05}}


@pytest.mark.parametrize(("place", "reopened"), [(6, True), (7, False)])
def test_only_a_checkpoint_from_before_it_was_taken_up_again_is_reopened(
    assign: Assign,
    recorder: Reporter,
    server: Any,
    monkeypatch: pytest.MonkeyPatch,
    place: int,
    reopened: bool,
) -> None:
    run_fit(assign(), recorder, StopFlag(), ALONE)
    ended = written(server.heard())[-1]
    first = replace(assign(resume_from=ended.path, **LONGER), reopened_at=6)
    run_fit(first, recorder, StopFlag("drain", after=place - 6), ALONE)
    checkpoint = ended if place == 6 else written(server.heard())[-1]
    assert checkpoint.step == place
    restore, asked = engine.Fit.restore, []

    def noted(fit: engine.Fit, checkpoint: engine.Checkpoint, *, reopened: bool = False) -> None:
        asked.append(reopened)
        restore(fit, checkpoint, reopened=reopened)

    monkeypatch.setattr(engine.Fit, "restore", noted)
    again = replace(first, resume_from=checkpoint.path)
    assert run_fit(again, recorder, StopFlag(), ALONE) == Finished("succeeded")
    assert asked == [reopened]


@pytest.mark.parametrize("kind", ["cancel", "drain"])
def test_a_fit_that_should_stop_does_so_without_a_checkpoint_that_finds_no_space(
    assign: Assign, recorder: Reporter, server: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def full(*_: Any) -> None:
        raise StorageFull("the disk has no room")

    monkeypatch.setattr(Reporter, "write_checkpoint", full)
    verdict = run_fit(assign(), recorder, StopFlag(kind, after=2), ALONE)
    assert verdict == Finished(OUTCOMES[kind])
    (entry,) = [message for message in server.heard() if isinstance(message, Log)]
    assert entry.code == "checkpoint_lost"
    assert "step 2" in entry.text


@pytest.mark.parametrize("operation", ["create", "write", "fsync", "rename"])
def test_a_fit_waits_for_memory_and_comes_to_the_same_bits(
    assign: Assign, recorder: Reporter, server: Any, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    monkeypatch.setattr("app.worker.reporter.RETRY_SECONDS", 0.0)
    captured = {"gradients": {"steps": [2], "parameters": ["w"]}}
    assert run_fit(assign(record=captured), recorder, StopFlag(), ALONE) == Finished("succeeded")
    undisturbed = server.heard()

    class Full(Durable):
        """Has no room for the first try of each file."""

        def about_to(self, name: str, *paths: Path) -> None:
            if name == operation and paths[0] not in tried:
                tried.add(paths[0])
                raise OSError(errno.ENOSPC, "full")
            super().about_to(name, *paths)

    tried: set[Path] = set()
    recorder.durable = Full()
    assert run_fit(assign(record=captured), recorder, StopFlag(), ALONE) == Finished("succeeded")
    messages = server.heard()
    assert rows_of(messages) == rows_of(undisturbed)
    for kind in (CheckpointWritten, GradientWritten):
        digests = [[each.digest for each in reported if isinstance(each, kind)] for reported in (messages, undisturbed)]
        assert digests[0] == digests[1] != []
    waits = [each for each in messages if isinstance(each, Phase) and each.phase == WAITS_FOR_STORAGE]
    logs = [each.code for each in messages if isinstance(each, Log)]
    assert logs == ["storage_full"] * len(waits) != []


@pytest.mark.parametrize("kind", ["cancel", "drain"])
def test_a_fit_that_waits_for_memory_can_be_stopped(
    assign: Assign, recorder: Reporter, server: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    stop_request = StopFlag(kind, after=10**9)

    def full(*_: Any) -> None:
        stop_request.after = 0  # from now on the fit is to stop
        raise StorageFull("the disk has no room")

    monkeypatch.setattr(Reporter, "write_checkpoint", full)
    assert run_fit(assign(), recorder, stop_request, ALONE) == Finished(OUTCOMES[kind])
    assert [each.code for each in server.heard() if isinstance(each, Log)] == ["checkpoint_lost"]


def test_checkpoints_by_the_clock_change_nothing_but_what_is_written(
    assign: Assign, recorder: Reporter, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.worker.checkpoint_scheduler.MAX_CLOCK_SHARE", math.inf)
    run_fit(assign(), recorder, StopFlag(), ALONE)
    without = server.heard()
    run_fit(replace(assign(), checkpoint_seconds=1e-9), recorder, StopFlag(), ALONE)
    by_the_clock = server.heard()
    assert [checkpoint.step for checkpoint in written(without)] == [3, 6]
    assert [checkpoint.step for checkpoint in written(by_the_clock)] == [1, 2, 3, 4, 5, 6]
    assert rows_of(by_the_clock) == rows_of(without)
    assert written(by_the_clock)[-1].digest == written(without)[-1].digest


@pytest.mark.parametrize("operation", ["create", "write", "fsync", "rename"])
def test_a_checkpoint_that_the_disk_does_not_take_is_not_announced_and_ends_the_fit(
    assign: Assign, recorder: Reporter, server: Any, operation: str
) -> None:
    class Failing(Durable):
        """Fails at this operation on the second checkpoint, however many tensors there are."""

        def about_to(self, kind: str, *paths: Path) -> None:
            if kind == operation and paths[0].name.startswith("step-6"):
                raise OSError(errno.EIO, "the disk failed", "/secret/path")

    recorder.durable = Failing()
    verdict = run_fit(assign(), recorder, StopFlag(), ALONE)
    assert isinstance(verdict, Failed)
    assert verdict.code == "storage_failed"
    assert "EIO" in verdict.detail
    assert "/secret" not in verdict.detail
    (kept,) = written(server.heard())
    assert kept.step == 3
    assert engine.Checkpoint.load(Path(kept.path)).cursor["seq"] == 3


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        (MemoryError(), Failed("out_of_memory", "try a smaller batch_size")),
        (engine.ShapeError("node 'h': no"), Failed("shape_mismatch", "node 'h': no")),
        (ZeroDivisionError("/secret/path"), Failed("internal_error", "ZeroDivisionError")),
        (OSError(errno.EIO, "/secret/path"), Failed("internal_error", "OSError")),
        (StorageFull("no room; free some space"), Failed("storage_full", "free some space")),
        (StorageFailed("the disk failed"), Failed("storage_failed", "the disk failed")),
        (DatasetCorrupt("column 'x' is damaged", blob="ab", problem="is short"), Failed("dataset_corrupt", "damaged")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_fault_loses_no_row_and_shows_clients_only_what_they_may_know(
    assign: Assign,
    recorder: Reporter,
    server: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: Exception,
    verdict: Failed,
) -> None:
    advance_chunk = engine.Fit.advance_chunk

    def faulty(fit: engine.Fit, end: int | None = None) -> list[engine.MetricRow]:
        if fit.step == 2:
            raise fault
        return advance_chunk(fit, end)

    monkeypatch.setattr(engine.Fit, "advance_chunk", faulty)
    found = run_fit(assign(), recorder, StopFlag(), ALONE)
    recorder.send(found)
    assert isinstance(found, Failed)
    assert found.code == verdict.code
    assert verdict.detail in found.detail
    assert "secret" not in found.detail
    messages = server.heard()
    assert seqs(messages) == [1, 2]
    assert messages[-1] == found
    shown = not isinstance(fault, engine.EngineError | DatasetCorrupt)
    assert ("Traceback" in caplog.text) is shown


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"batch_size": 0}, "document_invalid"), ({"optimizer": {"kind": "nonsense"}}, "document_invalid")],
)
def test_a_recipe_that_makes_no_sense_fails(
    assign: Assign, recorder: Reporter, changes: dict[str, Any], code: str
) -> None:
    found = run_fit(assign(**changes), recorder, StopFlag(), ALONE)
    assert isinstance(found, Failed)
    assert found.code == code


def test_a_column_file_that_would_run_code_is_not_loaded(assign: Assign, recorder: Reporter, tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(b"\x80\x04cposix\nsystem\n(S'true'\ntR.")
    assert run_fit(assign(), recorder, StopFlag(), ALONE) == Failed("internal_error", "ValueError")


def test_a_fit_that_should_stop_between_two_rows_writes_a_checkpoint_of_where_it_is(
    assign: Assign, recorder: Reporter, server: Any
) -> None:
    # With an average every step is taken by itself, and looked at.
    recipe = {"record": {"every_steps": 4}, "average": {"kind": "ema"}}
    assert run_fit(assign(**recipe), recorder, StopFlag("drain", after=5), ALONE) == Finished("drained")
    assert [(checkpoint.step, checkpoint.metric_seq) for checkpoint in written(server.heard())] == [(3, 0), (5, 1)]


def test_a_fit_that_diverges_fails_at_that_step_and_keeps_its_rows_but_nothing_to_go_on_from(
    assign: Assign, recorder: Reporter, server: Any
) -> None:
    too_long = {"optimizer": {"kind": "sgd", "lr": 1e9}}
    found = run_fit(assign(**too_long), recorder, StopFlag(), ALONE)
    recorder.flush_overdue()
    recorder.send(found)
    assert isinstance(found, Failed)
    assert found.code == "numerics_nonfinite"
    messages = server.heard()
    rows = [json.loads(row) for message in messages if isinstance(message, MetricRows) for row in message.rows]
    assert f"step {rows[-1]['step']} " in found.detail
    assert [bool(row["nonfinite"]) for row in rows] == [False] * (len(rows) - 1) + [True]
    assert [row["seq"] for row in rows] == [*range(1, len(rows) + 1)]
    assert all(checkpoint.step < rows[-1]["step"] for checkpoint in written(messages))


def test_a_fit_that_ends_early_says_why(assign: Assign, recorder: Reporter, server: Any) -> None:
    reason = "the budget of 4 steps is spent"
    assert run_fit(assign(budget={"steps": 4}), recorder, StopFlag(), ALONE) == Finished("succeeded", reason)
    messages = server.heard()
    assert seqs(messages) == [1, 2, 3, 4]
    assert [checkpoint.step for checkpoint in written(messages)] == [3, 4]
    (entry,) = [message for message in messages if isinstance(message, Log)]
    assert entry == Log("info", reason, "stopped_early")


def with_followers(
    assignment: Assignment, recorder: Reporter, stop_request: StopFlag, run_rank: Callable[..., None] = run_rank
) -> tuple[Any, list[Any]]:
    """Let three threads be the ranks; return the verdict, and how each of the others ended: an error or None."""
    ends = in_memory(3)
    outcomes: list[Any] = [Exception("it did not end")] * 2

    def play(rank: int) -> None:
        outcomes[rank - 1] = None
        try:
            run_rank(assignment, ends[rank])
        except engine.CollectiveError as error:
            outcomes[rank - 1] = error

    threads = [threading.Thread(target=play, args=(rank,), daemon=True) for rank in (1, 2)]
    for thread in threads:
        thread.start()
    verdict = run_fit(assignment, recorder, stop_request, ends[0])
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    return verdict, outcomes


@pytest.mark.parametrize(("kind", "outcome"), [("cancel", "cancelled"), ("drain", "drained")])
def test_all_ranks_stop_at_the_same_step(
    assign: Assign, recorder: Reporter, server: Any, monkeypatch: pytest.MonkeyPatch, kind: str, outcome: Any
) -> None:
    stopped_at: list[int] = []
    close = engine.Fit.close

    def noted(fit: engine.Fit) -> None:
        stopped_at.append(fit.step)
        close(fit)

    monkeypatch.setattr(engine.Fit, "close", noted)
    verdict, followers = with_followers(assign(), recorder, StopFlag(kind, after=2))
    assert (verdict, followers) == (Finished(outcome), [None, None])
    assert stopped_at == [2, 2, 2]
    assert [checkpoint.step for checkpoint in written(server.heard())] == [2]


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        (MemoryError(), Failed("out_of_memory", "try a smaller batch_size")),
        (engine.ShapeError("node 'h': no"), Failed("shape_mismatch", "node 'h': no")),
        (ZeroDivisionError("/secret/path"), Failed("internal_error", "ZeroDivisionError")),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("rank", [1, 2])
def test_a_fault_of_another_rank_is_the_verdict(
    assign: Assign,
    recorder: Reporter,
    server: Any,
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
    verdict: Failed,
    rank: int,
) -> None:
    advance = engine.Fit.advance

    def faulty(fit: engine.Fit) -> list[engine.MetricRow]:
        if fit.step == 2 and fit._collective.rank == rank:
            raise fault
        return advance(fit)

    monkeypatch.setattr(engine.Fit, "advance", faulty)
    found, others = with_followers(assign(), recorder, StopFlag())
    recorder.send(found)
    assert isinstance(found, Failed)
    assert found.code == verdict.code
    assert verdict.detail in found.detail
    assert "secret" not in found.detail
    assert seqs(server.heard()) == [1, 2]
    # The one that reported it has nothing to add.
    assert [type(other) for other in others] == [
        type(None) if rank == place else engine.RankAborted for place in (1, 2)
    ]


def test_a_rank_that_gives_up_without_words_is_a_fault_of_this_code(assign: Assign, recorder: Reporter) -> None:
    def give_up(assignment: Assignment, collective: engine.Collective) -> None:
        collective.abort(b"nonsense")

    found, _ = with_followers(assign(), recorder, StopFlag(), give_up)
    assert found == Failed("internal_error", "a rank gave up without a reason")


def test_the_loss_of_a_rank_is_no_verdict(assign: Assign, recorder: Reporter) -> None:
    class Lonely(engine.Alone):
        def gather(self, payload: bytes) -> list[bytes]:
            raise engine.RankLost(1)

    with pytest.raises(engine.RankLost):
        run_fit(assign(), recorder, StopFlag(), Lonely())


def test_a_fit_never_goes_on_with_another_executor(
    assign: Assign, recorder: Reporter, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "why_native_unusable", lambda: "install it with pip install 'adjoint-server[fast]'")
    assignment = assign()
    begun = replace(assignment, runtime={**assignment.runtime, "executor": "native"})
    verdict = run_fit(begun, recorder, StopFlag(), ALONE)
    assert isinstance(verdict, Failed)
    assert verdict.code == "extra_missing"
    assert "adjoint-server[fast]" in verdict.detail
    assert server.heard() == []


@pytest.mark.parametrize("lame", [0, 1])
def test_all_ranks_take_numpy_where_one_cannot_use_the_native_executor(
    assign: Assign, recorder: Reporter, server: Any, monkeypatch: pytest.MonkeyPatch, lame: int
) -> None:
    lead, executors, close = threading.get_ident(), [], engine.Fit.close

    def reason() -> str | None:
        return "no memory may be executed" if (threading.get_ident() == lead) == (lame == 0) else None

    def noted(fit: engine.Fit) -> None:
        executors.append(fit.execution.executor)
        close(fit)

    monkeypatch.setattr(engine, "executors", lambda: ("numpy", "native"))
    monkeypatch.setattr(engine, "why_native_unusable", reason)
    monkeypatch.setattr(engine.Fit, "close", noted)
    assignment = assign()
    opened = replace(assignment, runtime={**assignment.runtime, "executor": "auto"})
    verdict, _ = with_followers(opened, recorder, StopFlag())
    assert verdict == Finished("succeeded")
    assert set(executors) == {"numpy"}
    heard = server.heard()
    [entry] = [message for message in heard if isinstance(message, Log) and message.code == "native_unavailable"]
    assert (entry.level, "no memory may be executed" in entry.text) == ("warning", True)
    [phase] = [message for message in heard if isinstance(message, Phase)]
    assert phase.runtime is not None
    assert phase.runtime["executor"] == "numpy"
