import errno
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import engine
from app.domain.messages import Assignment, CheckpointWritten, Failed, Finished, Log, Message, Phase, Points
from app.worker.loop import work
from app.worker.recorder import Recorder

Assign = Callable[..., Assignment]


@dataclass
class Wish:
    """Stands in for the control: what is wanted from the `after`-th look on."""

    kind: Any = None
    after: int = 0
    looks: int = 0

    @property
    def wanted(self) -> Any:
        self.looks += 1
        return self.kind if self.looks > self.after else None


@pytest.fixture
def recorder(channel: Any) -> Recorder:
    return Recorder(channel)


def seqs(messages: list[Message]) -> list[int]:
    return [json.loads(row)["seq"] for message in messages if isinstance(message, Points) for row in message.rows]


def written(messages: list[Message]) -> list[CheckpointWritten]:
    return [message for message in messages if isinstance(message, CheckpointWritten)]


def test_a_fit_is_carried_out_and_its_checkpoints_are_files(assign: Assign, recorder: Recorder, server: Any) -> None:
    assert work(assign(), recorder, Wish()) == Finished("succeeded")
    messages = server.heard()
    assert messages[0] == Phase("training")
    assert seqs(messages) == [1, 2, 3, 4, 5, 6]
    assert [checkpoint.step for checkpoint in written(messages)] == [3, 6]
    for checkpoint in written(messages):
        path = Path(checkpoint.path)
        assert path.stat().st_size == checkpoint.size_bytes
        assert engine.Checkpoint.load(path).cursor["seq"] == checkpoint.metric_seq == checkpoint.step
        assert checkpoint.metrics["loss"] > 0
        assert {file.suffix for file in path.parent.iterdir()} == {".safetensors"}


def test_rows_arrive_before_the_checkpoint_that_holds_their_steps(
    assign: Assign, recorder: Recorder, server: Any
) -> None:
    work(assign(), recorder, Wish())
    messages = server.heard()
    for index, message in enumerate(messages):
        if isinstance(message, CheckpointWritten):
            assert max(seqs(messages[:index])) == message.metric_seq


@pytest.mark.parametrize(("kind", "outcome"), [("cancel", "cancelled"), ("drain", "drained")])
def test_a_fit_that_should_stop_writes_a_checkpoint_of_where_it_is(
    assign: Assign, recorder: Recorder, server: Any, kind: str, outcome: Any
) -> None:
    assert work(assign(), recorder, Wish(kind, after=2)) == Finished(outcome)
    messages = server.heard()
    assert [checkpoint.step for checkpoint in written(messages)] == [2]
    assert seqs(messages) == [1, 2]


def test_a_fit_that_should_stop_before_it_began_writes_none(assign: Assign, recorder: Recorder, server: Any) -> None:
    assert work(assign(), recorder, Wish("cancel")) == Finished("cancelled")
    assert written(server.heard()) == []


def test_a_fit_that_is_done_when_it_should_stop_has_succeeded(assign: Assign, recorder: Recorder, server: Any) -> None:
    assert work(assign(), recorder, Wish("cancel", after=6)) == Finished("succeeded")


def test_a_fit_goes_on_from_a_checkpoint_as_if_nothing_had_been(
    assign: Assign, recorder: Recorder, server: Any
) -> None:
    work(assign(), recorder, Wish())
    whole = server.heard()
    first, last = written(whole)
    expected = Path(last.path).read_bytes()
    assert work(assign(resume_from=first.path), recorder, Wish()) == Finished("succeeded")
    rest = server.heard()
    assert seqs(rest) == [4, 5, 6]
    assert Path(written(rest)[-1].path).read_bytes() == expected
    assert not any(isinstance(message, Log) for message in rest)


def test_a_checkpoint_of_other_numerics_is_remarked_on(
    assign: Assign, recorder: Recorder, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(assign(), recorder, Wish())
    first = written(server.heard())[0]
    monkeypatch.setattr(engine, "fingerprint", lambda: {"numpy": "99"})
    work(assign(resume_from=first.path), recorder, Wish())
    (entry,) = [message for message in server.heard() if isinstance(message, Log)]
    assert entry.level == "warning"
    assert entry.text.startswith("numerics_changed")


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        (MemoryError(), Failed("out_of_memory", "try a smaller batch_size")),
        (engine.ShapeError("node 'h': no"), Failed("shape_mismatch", "node 'h': no")),
        (ZeroDivisionError("/secret/path"), Failed("internal_error", "ZeroDivisionError")),
        (OSError(errno.EIO, "/secret/path"), Failed("internal_error", "OSError")),
        (OSError(errno.ENOSPC, "/secret/path"), Failed("storage_full", "free some space")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_fault_loses_no_row_and_tells_clients_only_what_they_may_know(
    assign: Assign,
    recorder: Recorder,
    server: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: Exception,
    verdict: Failed,
) -> None:
    advance = engine.Fit.advance

    def faulty(fit: engine.Fit) -> list[engine.Point]:
        if fit.step == 2:
            raise fault
        return advance(fit)

    monkeypatch.setattr(engine.Fit, "advance", faulty)
    found = work(assign(), recorder, Wish())
    recorder.send(found)
    assert isinstance(found, Failed)
    assert found.code == verdict.code
    assert verdict.detail in found.detail
    assert "secret" not in found.detail
    messages = server.heard()
    assert seqs(messages) == [1, 2]
    assert messages[-1] == found
    shown = not isinstance(fault, engine.EngineError)
    assert ("Traceback" in caplog.text) is shown


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"batch_size": 0}, "document_invalid"), ({"optimizer": {"kind": "nonsense"}}, "document_invalid")],
)
def test_a_recipe_that_makes_no_sense_fails(
    assign: Assign, recorder: Recorder, changes: dict[str, Any], code: str
) -> None:
    found = work(assign(**changes), recorder, Wish())
    assert isinstance(found, Failed)
    assert found.code == code


def test_a_column_file_that_would_run_code_is_not_loaded(assign: Assign, recorder: Recorder, tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(b"\x80\x04cposix\nsystem\n(S'true'\ntR.")
    assert work(assign(), recorder, Wish()) == Failed("internal_error", "ValueError")
