"""A process waits for the next upload: one, for a while, and never one that has ended or failed."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import Queue

import pytest

from app.domain.errors import Invalid
from app.ingest.exchange import ChildError, Process
from app.ingest.ingest import ingest, run_reader, start_reader
from app.ingest.limits import IngestLimits, IngestOptions
from app.ingest.reader_processes import ReaderProcesses
from app.ingest.verdict import IngestResult
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


def test_a_process_that_waits_is_taken_again_and_again_but_by_one_at_a_time(start: Starter) -> None:
    with closing(ReaderProcesses(start, LONGEST_WAIT)) as readers:
        first = prepared(readers, start, 1)
        readers.prepare()
        with readers.take() as taken:
            assert taken is first
            with readers.take() as second:
                assert start.started == [first, second]
            assert second.returncode is not None
        with readers.take() as taken:
            assert taken is first
            prepared(readers, start, 3)
    assert all(process.returncode is not None for process in start.started)
    assert len(start.started) == 3


def test_a_process_that_has_failed_is_ended(start: Starter) -> None:
    with closing(ReaderProcesses(start, LONGEST_WAIT)) as readers:
        first = prepared(readers, start, 1)
        with pytest.raises(ChildError), readers.take():
            raise ChildError
        assert first.returncode is not None
        assert prepared(readers, start, 2) is not first


def test_a_process_that_has_ended_is_not_taken(start: Starter) -> None:
    with closing(ReaderProcesses(start, LONGEST_WAIT)) as readers:
        first = prepared(readers, start, 1)
        first.kill()
        first.wait(LONGEST_WAIT)
        with readers.take() as taken:
            assert taken is not first
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
        with pytest.raises(BlockingIOError), readers.take():
            pass
        start.fails = False
        with readers.take() as taken:
            assert taken is start.started[0]
        second = prepared(readers, start, 2)
        with readers.take() as taken:
            assert taken is second


def test_a_process_reads_one_upload_after_another_as_any_other_does(tmp_path: Path) -> None:
    upload, target = tmp_path / "upload.csv", tmp_path / "target"
    target.mkdir()
    started: list[Process] = []

    def start() -> Process:
        started.append(start_reader())
        ready.put(None)
        return started[-1]

    ready: Queue[None] = Queue()
    with closing(ReaderProcesses(start, LONGEST_WAIT)) as readers:
        readers.prepare()
        ready.get(timeout=LONGEST_WAIT)
        for content, is_taken in (("a,b\n1,2.5\n3,4.5\n", True), ("a\n1\n2,3\n", False), ("c,d\n5,6.5\n", True)):
            upload.write_text(content)
            found = []
            for take in (readers.take, run_reader):
                try:
                    found.append(ingest(upload, "csv", target, IngestOptions(), IngestLimits(), take))
                except Invalid as error:
                    found.append(error.code)
                for path in target.iterdir():
                    path.unlink()
            assert found[0] == found[1]
            assert isinstance(found[0], IngestResult) is is_taken
    assert len(started) == 1
