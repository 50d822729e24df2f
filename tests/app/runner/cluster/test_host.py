"""The actor's side of an attempt, with a process of its own, and without Ray."""

import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.domain.messages import CheckpointWritten, Control, Failed, Finished, decode, encode
from app.runner.cluster import host, outbox
from app.runner.cluster.code_identity import NAMES, identity
from app.runner.cluster.host import EXIT, AttemptHost
from app.runner.cluster.protocol import Ended, from_text
from tests.support.patience import PATIENCE

from .conftest import TOKEN, Assign

IDENTITY = {
    "python": "3.11.7",
    "numpy": "2.0.0",
    "numba": "0.62.1",
    "llvmlite": "0.45.1",
    "ml_dtypes": "0.6.0",
    "xoscar": "0.12.0",
    "obstore": "0.12.0",
    "ray": "2.60.0",
    "code": "0123",
}

Begin = Callable[..., AttemptHost]


@pytest.fixture
def begin(assign: Assign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Begin attempts, as Ray would by making their actor; whatever is left of them is ended."""
    monkeypatch.setattr(host, "END_SECONDS", PATIENCE)
    monkeypatch.setattr(host, "identity", lambda: IDENTITY)
    begun: list[AttemptHost] = []

    def start(identity: dict[str, str] = IDENTITY, **fields: Any) -> AttemptHost:
        terms = {"identity": identity, "folder": str(tmp_path / "node"), "blob_url": None, "cache_bytes": 0}
        begun.append(AttemptHost(encode(assign(**fields)).decode(), terms))
        return begun[-1]

    yield start
    for each in begun:
        each.close()


def left_behind(tmp_path: Path) -> list[Path]:
    return [*(tmp_path / "node" / "attempts").glob("*")]


def heard(attempt: AttemptHost) -> tuple[list[Any], Ended]:
    """Receive all reports, as the bridge does, and acknowledge none; return the messages, and how it ended."""
    messages, last, end = [], 0, time.monotonic() + PATIENCE
    while True:
        assert time.monotonic() < end
        _, kept = attempt.receive(0, last, 1.0)
        for number, kind, text in kept:
            assert number == last + 1
            last = number
            if kind == EXIT:
                return messages, from_text(text.encode())
            messages.append(decode(text.encode()))


def test_reports_come_again_until_they_are_acknowledged(begin: Begin) -> None:
    attempt = begin(steps=3)
    messages, ended = heard(attempt)
    assert (type(messages[-1]), ended.reason) == (Finished, "finished")
    assert heard(attempt) == (messages, ended)
    files = [Path(message.path) for message in messages if isinstance(message, CheckpointWritten)]
    assert [attempt.read(str(file), 0, 1 << 20) for file in files] == [file.read_bytes() for file in files]
    attempt.receive(len(messages), len(messages), 0.0)
    assert [file.exists() for file in files] == [False] * len(files) != []
    assert attempt.receive(0, 0, 0.0)[1][0][1] == EXIT


def test_closing_kills_the_process_and_deletes_its_files_once(begin: Begin, tmp_path: Path) -> None:
    attempt = begin()
    assert attempt.receive(0, 0, PATIENCE)[1]  # it has begun
    assert {path.name for path in left_behind(tmp_path)} == {TOKEN, f"{TOKEN}.lock"}
    attempt.close()
    attempt.close()
    assert left_behind(tmp_path) == []
    assert heard(attempt)[1].asked


def test_closing_ends_a_process_whose_reports_nobody_takes(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "BYTES_MAX", 1000)
    attempt = begin()
    end = time.monotonic() + PATIENCE
    while not attempt._outbox.is_full:  # from then on the process is not read from
        assert time.monotonic() < end
        time.sleep(0.01)
    attempt.close()
    assert not attempt._thread.is_alive()
    assert left_behind(tmp_path) == []
    assert heard(attempt)[1].asked


def test_closing_an_attempt_that_waits_for_its_files_ends_it(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.domain.errors import StorageUnavailable

    def unavailable(*_: object) -> None:
        raise StorageUnavailable("the storage is away")

    monkeypatch.setattr(host, "relocate", unavailable)
    monkeypatch.setattr(host, "RETRY_SECONDS", 0.01)
    attempt = begin()
    assert attempt.receive(0, 0, PATIENCE)[1]
    attempt.close()
    assert left_behind(tmp_path) == []
    messages, ended = heard(attempt)
    assert [message.code for message in messages[:-1]] == ["storage_unavailable"]
    assert (messages[-1].outcome, ended.reason) == ("cancelled", "finished")


def test_a_stop_that_comes_before_the_process_drains_the_attempt(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AttemptHost, "_prepare", _after_a_stop(AttemptHost._prepare))
    messages, ended = heard(begin())
    assert ([*map(type, messages)], ended.reason) == ([Finished], "finished")
    assert messages[0].outcome == "drained"


def _after_a_stop(prepare: Callable[[AttemptHost], Any]) -> Callable[[AttemptHost], Any]:
    def stop_and_prepare(attempt: AttemptHost) -> Any:
        attempt.send(encode(Control("drain")).decode(), 10.0)
        return prepare(attempt)

    return stop_and_prepare


def test_an_input_that_the_node_does_not_see_fails_the_fit_with_advice(begin: Begin, tmp_path: Path) -> None:
    (failed,), ended = heard(begin(columns={"x": [str(tmp_path / "elsewhere.npy")]}))
    assert isinstance(failed, Failed)
    assert "ADJOINT_BLOB_URL" in failed.detail
    assert ended.reason == "finished"


def test_files_of_others_are_not_read(begin: Begin, tmp_path: Path) -> None:
    from app.domain.errors import NotFound

    attempt = begin()
    assert attempt.receive(0, 0, PATIENCE)[1]
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for path in (secret, tmp_path / "node" / "attempts" / TOKEN / ".." / ".." / ".." / "secret"):
        with pytest.raises(NotFound):
            attempt.read(str(path), 0, 10)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ray", "2.59.0", "Ray 2.60.0 (the server has 2.59.0)"),
        ("python", "3.12.1", "Python 3.11.7 (the server has 3.12.1)"),
        ("numpy", "2.1.0", "NumPy 2.0.0 (the server has 2.1.0)"),
        ("numba", "none", "Numba 0.62.1 (the server has none)"),
        ("llvmlite", "0.46.0", "llvmlite 0.45.1 (the server has 0.46.0)"),
        ("ml_dtypes", "0.7.0", "ml_dtypes 0.6.0 (the server has 0.7.0)"),
        ("xoscar", "0.13.0", "xoscar 0.12.0 (the server has 0.13.0)"),
        ("obstore", "0.13.0", "obstore 0.12.0 (the server has 0.13.0)"),
        ("code", "4567", "Adjoint's code 0123 (the server has 4567)"),
    ],
)
def test_nothing_runs_on_a_node_that_differs(begin: Begin, tmp_path: Path, name: str, value: str, said: str) -> None:
    attempt = begin(identity={**IDENTITY, name: value})
    assert attempt.unusable == f"it has {said}; install the same there"
    attempt.close()
    assert left_behind(tmp_path) == []


def test_all_that_is_compared_is_stated_by_every_machine() -> None:
    own = identity()
    assert own.keys() == IDENTITY.keys() == NAMES.keys()
    assert (own["numpy"], own["numba"]) == (np.__version__, version("numba") if find_spec("numba") else "none")
