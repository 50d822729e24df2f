"""What a worker reports to the server: rows, checkpoints, gradients, heartbeats and phases."""

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from app.domain.messages import (
    About,
    Assignment,
    CheckpointWritten,
    Finished,
    GradientWritten,
    Heartbeat,
    Log,
    Message,
    MetricRows,
    Phase,
)
from app.system.durable import Durable
from app.worker import reporter as module
from app.worker.fit_loop import run_fit
from app.worker.reporter import (
    HEARTBEAT_SECONDS,
    POSITION_SECONDS,
    ROWS_SECONDS,
    CompilationReport,
    Reporter,
    write_gradient,
)

Assign = Callable[..., Assignment]
ALONE = engine.Alone()
RECORD = {"gradients": {"steps": [0, 4], "parameters": ["w"]}}


class Never:
    """Stands in for the control: stopping is never requested."""

    stop_requested = None


def reports(messages: list[Message]) -> list[GradientWritten]:
    inner = [message.message if isinstance(message, About) else message for message in messages]
    return [message for message in inner if isinstance(message, GradientWritten)]


@pytest.mark.parametrize(
    "array",
    [
        np.array(2.5, np.float64),
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.array([np.nan, np.inf, -np.inf, 0.0], np.float16),
        np.zeros((0, 3), np.float32),
        np.asfortranarray(np.arange(12, dtype=np.float64).reshape(3, 4)),
    ],
    ids=["a number", "a matrix", "not finite", "empty", "by columns"],
)
def test_a_gradient_is_a_file_with_the_very_numbers(tmp_path: Path, array: np.ndarray[Any, Any]) -> None:
    path = tmp_path / "gradient.npy"
    written = write_gradient(Durable(), engine.CapturedGradient(7, "w/1", array), path)
    content = path.read_bytes()
    assert (written.path, written.step, written.parameter) == (str(path), 7, "w/1")
    assert (written.dtype, written.shape) == (array.dtype.name, list(array.shape))
    assert (written.digest, written.size_bytes) == (hashlib.sha256(content).hexdigest(), len(content))
    np.testing.assert_array_equal(np.load(path, allow_pickle=False), array)
    assert [*tmp_path.iterdir()] == [path]


def test_numbers_that_the_format_has_no_name_for_are_widened(tmp_path: Path) -> None:
    array = np.array([1.5, -2.0]).astype(pytest.importorskip("ml_dtypes").bfloat16)
    written = write_gradient(Durable(), engine.CapturedGradient(0, "w", array), tmp_path / "gradient.npy")
    assert written.dtype == "float32"
    assert np.load(written.path).tolist() == [1.5, -2.0]


def test_gradients_are_reported_before_the_checkpoint_that_follows_them(
    assign: Assign, channel: Any, server: Any
) -> None:
    assert run_fit(assign(record=RECORD), Reporter(channel), Never(), ALONE) == Finished("succeeded")
    heard = [message for message in server.heard() if isinstance(message, GradientWritten | CheckpointWritten)]
    assert [(type(message), message.step) for message in heard] == [
        (GradientWritten, 0),
        (CheckpointWritten, 3),
        (GradientWritten, 4),
        (CheckpointWritten, 6),
    ]
    first = reports(heard)[0]
    assert np.load(first.path).shape == (2,)


def test_a_resumed_fit_captures_the_same_bytes_again(assign: Assign, channel: Any, server: Any) -> None:
    record = {"gradients": {"every_steps": 1}}
    run_fit(assign(record=record), Reporter(channel), Never(), ALONE)
    heard = server.heard()
    whole = {message.step: message.digest for message in reports(heard)}
    (checkpoint,) = [m for m in heard if isinstance(m, CheckpointWritten) and m.step == 3]
    run_fit(assign(resume_from=checkpoint.path, record=record), Reporter(channel), Never(), ALONE)
    again = {message.step: message.digest for message in reports(server.heard())}
    assert [*whole] == [0, 1, 2, 3, 4, 5]
    assert again == {step: whole[step] for step in (3, 4, 5)}


@dataclass
class Standing:
    """As much of a fit as the recorder looks at."""

    step: int = 1
    epoch: int = 1
    latest: dict[str, float] = field(default_factory=lambda: {"loss": 0.5})
    best: dict[str, Any] | None = None


def point(seq: int) -> engine.MetricRow:
    return engine.MetricRow(seq, seq, 1, "train", {"loss": 0.5})


@dataclass
class Time:
    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(module, "time", time)
    return time


def rows(messages: list[Any]) -> list[list[int]]:
    return [[json.loads(row)["seq"] for row in message.rows] for message in messages if isinstance(message, MetricRows)]


def test_the_first_row_goes_at_once_and_others_gather(channel: Any, server: Any, time: Time) -> None:
    recorder = Reporter(channel)
    recorder.report_step(Standing(), [point(1)])
    assert rows(server.heard()) == [[1]]
    for seq in (2, 3):
        recorder.report_step(Standing(), [point(seq)])
    assert server.heard() == []
    time.now += ROWS_SECONDS
    recorder.report_step(Standing(), [point(4)])
    assert rows(server.heard()) == [[2, 3, 4]]


def test_rows_do_not_wait_for_a_long_step_to_end(channel: Any, server: Any, time: Time) -> None:
    recorder = Reporter(channel)
    recorder.report_step(Standing(), [point(1)])
    recorder.report_step(Standing(), [point(2)])
    recorder.flush_overdue()
    assert rows(server.heard()) == [[1]]
    time.now += ROWS_SECONDS
    recorder.flush_overdue()
    assert rows(server.heard()) == [[2]]
    recorder.flush_overdue()
    assert server.heard() == []


def test_where_no_row_is_recorded_the_step_is_reported_now_and_then(channel: Any, server: Any, time: Time) -> None:
    recorder = Reporter(channel)
    recorder.report_step(Standing(step=1), [point(1)])
    server.heard()
    time.now += POSITION_SECONDS / 2
    recorder.report_step(Standing(step=2), [])
    assert server.heard() == []
    time.now += POSITION_SECONDS / 2
    recorder.report_step(Standing(step=3, best={"value": 0.25}), [])
    assert server.heard() == [MetricRows([], 3, 1, {"loss": 0.5}, {"value": 0.25})]


def test_other_messages_do_not_overtake_rows(channel: Any, server: Any, time: Time) -> None:
    recorder = Reporter(channel)
    for seq in (1, 2):
        recorder.report_step(Standing(), [point(seq)])
    recorder.send(Log("info", "after"))
    messages = server.heard()
    assert rows(messages) == [[1], [2]]
    assert messages[-1] == Log("info", "after")


def test_a_worker_with_nothing_to_report_sends_a_heartbeat(channel: Any, server: Any, time: Time) -> None:
    recorder = Reporter(channel)
    for _ in range(2):
        recorder.flush_overdue()
        assert server.heard() == []
        time.now += HEARTBEAT_SECONDS
        recorder.flush_overdue()
        assert server.heard() == [Heartbeat()]


def test_a_report_of_a_variant_is_a_heartbeat(channel: Any, server: Any, time: Time) -> None:
    recorder = Reporter(channel)
    with recorder.for_variant("fit_2") as part:
        time.now += HEARTBEAT_SECONDS
        part.send(Log("info", "here"))
        recorder.flush_overdue()
        assert server.heard() == [About("fit_2", Log("info", "here"))]
        time.now += HEARTBEAT_SECONDS
        recorder.flush_overdue()
        assert server.heard() == [Heartbeat()]


def test_a_sign_of_life_waits_for_a_server_that_does_not_keep_up(channel: Any, server: Any, time: Time) -> None:
    recorder = Reporter(channel)
    channel.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            channel.send(bytes(1 << 16))
    channel.setblocking(True)
    time.now += HEARTBEAT_SECONDS
    recorder.flush_overdue()  # would never return


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    codes: list[int] = []
    monkeypatch.setattr(module.os, "_exit", codes.append)
    return codes


def test_without_a_server_there_is_nothing_to_do(channel: Any, server: Any, exits: list[int]) -> None:
    server.channel.close()
    Reporter(channel).send(Log("info", "anybody?"))
    assert exits == [module.EXIT_SERVER_GONE]


def test_a_fit_that_waits_for_kernels_is_in_the_phase_compiling(
    channel: Any, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPILATION_SECONDS", 3600.0)
    report = CompilationReport(Reporter(channel))
    for count in range(4):
        report.update(count, 3)
    messages = server.heard()
    assert [message.phase for message in messages if isinstance(message, Phase)] == ["compiling", "training"]
    logs = [message for message in messages if isinstance(message, Log)]
    assert [log.text.partition(" kernels")[0] for log in logs] == ["0 of 3", "3 of 3"]
    assert [(log.code, log.count, log.total) for log in logs] == [("compiling", 0, 3), ("compiling", 3, 3)]
