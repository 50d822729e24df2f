"""A processor in this process, over a disk that fails and a bench that breaks."""

import errno
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.domain.frames import Head, Step, StepReply
from app.system.durable import Durable, Writable
from app.worker.session import step_log
from app.worker.session.backend import Call, Handler, Result, SessionBackend
from app.worker.session.recovery import recover
from app.worker.session.session_dir import SessionDir
from app.worker.session.step_processor import RestartRequired, StepProcessor


class Disk(Durable):
    """Fails at every operation of a kind while a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: tuple[str, ...] = ()
        self.error = errno.ENOSPC

    def about_to(self, operation: str, *paths: Path) -> None:
        super().about_to(operation, *paths)
        if operation in self.broken:
            raise OSError(self.error, "set to fail")


class Counter(SessionBackend):
    """A bench that counts: `add` by one, `break` by half and then fails."""

    has_transient_state = False

    def __init__(self) -> None:
        self.count = 0.0
        self.discarded = 0
        self.handlers = {
            "add": Handler(self._add, "log"),
            "take": Handler(self._take, "snapshot"),
            "break": Handler(self._break, "log"),
            "exhaust": Handler(self._exhaust, "log"),
            "count": Handler(lambda call: Result({"count": self.count})),
        }

    @property
    def standing(self) -> dict[str, Any]:
        return {"step": 0, "passes": 0, "tapes": 0}

    def _add(self, call: Call) -> Result:
        self.count += 1
        return Result({"count": self.count})

    def _take(self, call: Call) -> Result:
        self.count = float(Path(call.files["file"]).read_text())
        return Result()

    def _break(self, call: Call) -> Result:
        self.count += 0.5
        raise RuntimeError("broken")

    def _exhaust(self, call: Call) -> Result:
        raise MemoryError

    def discard_transient(self) -> None:
        self.discarded += self.has_transient_state
        self.has_transient_state = False

    def start_from(self, path: Path, *, parameters_only: bool) -> None:
        pass

    def snapshot(self, file: Writable) -> None:
        file.write(repr(self.count).encode())

    def restore(self, path: Path) -> dict[str, Any]:
        self.count = float(path.read_text())
        return {}


@dataclass
class Work:
    """A counter, a processor and a disk; `again` takes the session up anew."""

    folder: Path
    disk: Disk = field(default_factory=Disk)
    sent: list[tuple[Head, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.again()

    def again(self) -> None:
        place = SessionDir(self.folder, self.disk)
        found = recover(place, Counter, Counter, None)
        self.backend: Any = found.backend
        self.log = found.log
        self.processor = StepProcessor(found.backend, found.log, place, self, None)  # type: ignore[arg-type]  # it only answers

    def send(self, *frames: tuple[Head, bytes]) -> None:
        self.sent += frames

    def do(self, verb: str, seq: int | None = None, **fields: Any) -> StepReply:
        self.processor.submit(Step(f"{verb}{len(self.sent)}", verb, {}, seq, **fields), b"")
        self.processor.commit()
        return self.last()

    def last(self) -> StepReply:
        head, _ = self.sent[-1]
        assert isinstance(head, StepReply)
        return head


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path)


@pytest.mark.parametrize(
    ("number", "status", "code"), [(errno.ENOSPC, 507, "storage_full"), (errno.EIO, 503, "storage_failed")]
)
@pytest.mark.parametrize("operation", ["write", "fsync"])
def test_what_cannot_be_kept_is_refused_and_forgotten(
    work: Work, operation: str, number: int, status: int, code: str
) -> None:
    work.do("add")
    work.disk.broken, work.disk.error = (operation,), number
    with pytest.raises(RestartRequired):
        work.do("add")
    error = work.last().error
    assert error is not None
    assert (error["status"], error["code"], error["expected_seq"]) == (status, code, 2)
    work.disk.broken = ()
    work.again()
    # What could be written and not synced may be there: then the step that is sent again finds its answer.
    assert (work.backend.count, work.log.next_seq) in [(1.0, 2), (2.0, 3)]
    work.do("add", seq=2)
    assert work.backend.count == 2.0 or work.last().error is not None


def test_a_fault_of_the_backend_is_answered_and_undone(work: Work) -> None:
    work.do("add")
    with pytest.raises(RestartRequired):
        work.do("break", seq=2)
    error = work.last().error
    assert error is not None
    assert (error["status"], error["code"]) == (500, "internal")
    work.again()
    assert work.backend.count == 1.0
    again = work.do("break", seq=2)
    assert (again.replayed, again.seq) == (True, 2)
    assert work.backend.count == 1.0


def test_a_step_for_which_there_is_no_memory_takes_its_place(work: Work) -> None:
    error = work.do("exhaust").error
    assert error is not None
    assert (error["status"], error["code"], error["expected_seq"]) == (422, "out_of_memory", 2)
    work.again()
    assert work.log.next_seq == 2


def test_a_snapshot_that_cannot_be_written_is_left_out(work: Work) -> None:
    work.do("add")
    work.disk.broken = ("rename",)
    work.processor.write_snapshot()
    work.disk.broken = ()
    work.do("add")
    work.again()
    assert work.backend.count == 2.0


def test_what_needs_a_file_lasts_by_a_snapshot_or_not_at_all(work: Work, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("7.0")
    files = {"file": str(tmp_path / "given")}
    work.do("add")
    work.disk.broken = ("rename",)
    with pytest.raises(RestartRequired):
        work.do("take", seq=2, files=files)
    error = work.last().error
    assert error is not None
    assert (error["status"], error["expected_seq"]) == (507, 2)
    work.disk.broken = ()
    work.again()
    assert work.backend.count == 1.0
    assert work.do("take", seq=2, files=files).seq == 2
    (tmp_path / "given").unlink()
    work.again()
    assert (work.backend.count, work.log.next_seq) == (7.0, 3)
    assert work.do("take", seq=2, files=files).replayed


@pytest.mark.parametrize(
    ("name", "value", "gives_up"), [("LOG_STEPS", 3, True), ("LOG_BYTES", 300, True), ("REPLAY_SECONDS", -1.0, False)]
)
def test_a_long_log_gives_way_to_a_snapshot(
    work: Work, monkeypatch: pytest.MonkeyPatch, name: str, value: float, gives_up: bool
) -> None:
    monkeypatch.setattr(step_log, name, value)
    monkeypatch.setattr(step_log, "SNAPSHOT_COST_FACTOR", 0.0)
    work.backend.has_transient_state = True
    for _ in range(4):
        work.do("add")
        work.processor.write_snapshot_if_due()
    assert (work.log.number > 1) is gives_up
    assert work.backend.discarded == int(gives_up)
    work.backend.has_transient_state = False
    work.do("add")
    work.processor.write_snapshot_if_due()
    assert work.log.number > 1
    work.again()
    assert work.backend.count == 5.0
    assert work.do("add", seq=1).replayed
