"""Captured gradients in the worker: as files that are complete when the server is told of them."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from app.domain.messages import About, Assignment, CheckpointWritten, Finished, GradientWritten, Message
from app.system.durable import Durable
from app.worker.captures import write_gradient
from app.worker.loop import work
from app.worker.recorder import Recorder

Assign = Callable[..., Assignment]
ALONE = engine.Alone()
RECORD = {"gradients": {"steps": [0, 4], "parameters": ["w"]}}


class Never:
    """Stands in for the control: nothing is wanted."""

    wanted = None


def told(messages: list[Message]) -> list[GradientWritten]:
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


def test_gradients_are_told_of_before_the_checkpoint_that_follows_them(
    assign: Assign, channel: Any, server: Any
) -> None:
    assert work(assign(record=RECORD), Recorder(channel), Never(), ALONE) == Finished("succeeded")
    heard = [message for message in server.heard() if isinstance(message, GradientWritten | CheckpointWritten)]
    assert [(type(message), message.step) for message in heard] == [
        (GradientWritten, 0),
        (CheckpointWritten, 3),
        (GradientWritten, 4),
        (CheckpointWritten, 6),
    ]
    first = told(heard)[0]
    assert np.load(first.path).shape == (2,)


def test_a_resumed_fit_captures_the_same_bytes_again(assign: Assign, channel: Any, server: Any) -> None:
    record = {"gradients": {"every_steps": 1}}
    work(assign(record=record), Recorder(channel), Never(), ALONE)
    heard = server.heard()
    whole = {message.step: message.digest for message in told(heard)}
    (checkpoint,) = [m for m in heard if isinstance(m, CheckpointWritten) and m.step == 3]
    work(assign(resume_from=checkpoint.path, record=record), Recorder(channel), Never(), ALONE)
    again = {message.step: message.digest for message in told(server.heard())}
    assert [*whole] == [0, 1, 2, 3, 4, 5]
    assert again == {step: whole[step] for step in (3, 4, 5)}
