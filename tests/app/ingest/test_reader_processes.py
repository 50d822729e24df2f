"""A process waits for the next upload: one, for a while, and never one that has ended."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import Queue

import pytest

from app.ingest.ingest import ingest, start_reader
from app.ingest.limits import IngestLimits, IngestOptions
from app.ingest.reader_processes import Process, ReaderProcesses
from tests.support.patience import LONGEST_WAIT


class Starter:
    """Starts processes that end when they are asked to, and keeps count of them."""

    def __init__(self) -> None:
        self.started: list[Process] = []
        self.fails = False
        self.counts: Queue[int] = Queue()

    def __call__(self) -> Process:
        if self.fails:
            raise BlockingIOError
        pipe = subprocess.PIPE
        self.started.append(subprocess.Popen(["cat"], stdin=pipe, stdout=pipe, stderr=pipe))
        self.counts.put(len(self.started))
        return self.started[-1]


@pytest.fixture
def start() -> Iterator[Starter]:
    starter = Starter()
    yield starter
    for process in starter.started:
        with process:
            process.kill()


def prepared(readers: ReaderProcesses, start: Starter, count: int) -> Process:
    readers.prepare()
    while start.counts.get(timeout=LONGEST_WAIT) < count:
        pass
    return start.started[-1]


def test_a_process_that_waits_is_taken_once_and_the_next_one_is_started_when_it_is_asked_for(start: Starter) -> None:
    with closing(ReaderProcesses(start, LONGEST_WAIT)) as readers:
        first = prepared(readers, start, 1)
        readers.prepare()
        assert readers.take() is first
        second = prepared(readers, start, 2)
        assert readers.take() is second
        third = readers.take()
        assert start.started == [first, second, third]


def test_a_process_that_has_ended_is_not_taken(start: Starter) -> None:
    with closing(ReaderProcesses(start, LONGEST_WAIT)) as readers:
        first = prepared(readers, start, 1)
        first.kill()
        first.wait(LONGEST_WAIT)
        assert readers.take() is not first
    assert len(start.started) == 2


def test_a_process_that_nobody_takes_is_ended_and_not_started_again(start: Starter) -> None:
    with closing(ReaderProcesses(start, 0.001)) as readers:
        for count in (1, 2):
            prepared(readers, start, count).wait(LONGEST_WAIT)
    assert len(start.started) == 2


def test_no_process_is_left_when_the_readers_are_closed(start: Starter) -> None:
    with closing(ReaderProcesses(start, LONGEST_WAIT)) as readers:
        waiting = prepared(readers, start, 1)
    assert waiting.returncode is not None
    readers.prepare()
    assert len(start.started) == 1
    with closing(ReaderProcesses(start)):
        pass


def test_a_process_that_cannot_be_started_is_tried_again_by_who_needs_it(start: Starter) -> None:
    with closing(ReaderProcesses(start, LONGEST_WAIT)) as readers:
        start.fails = True
        readers.prepare()
        with pytest.raises(BlockingIOError):
            readers.take()
        start.fails = False
        assert readers.take() is start.started[0]
        assert prepared(readers, start, 2) is readers.take()


def test_a_process_that_waited_reads_an_upload_as_any_other(tmp_path: Path) -> None:
    upload, target = tmp_path / "upload.csv", tmp_path / "target"
    upload.write_text("a,b\n1,2.5\n3,4.5\n")
    target.mkdir()
    with closing(ReaderProcesses(start_reader, LONGEST_WAIT)) as readers:
        readers.prepare()
        waited = ingest(upload, "csv", target, IngestOptions(), IngestLimits(), readers.take)
    for column in waited.columns:
        column.path.unlink()
    assert ingest(upload, "csv", target, IngestOptions(), IngestLimits()) == waited
    assert [column.name for column in waited.columns] == ["a", "b"]
