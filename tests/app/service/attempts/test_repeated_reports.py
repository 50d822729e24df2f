"""Reports come to the same wherever the database cuts them off, if each is repeated as the supervisor repeats it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import Conflict, DatabaseUnavailable
from app.domain.messages import Finished, Log
from app.service.attempts.progress import AttemptReport, Claim
from app.store.unit_of_work import Store, UnitOfWork
from tests.support.attempts_harness import AttemptsHarness, rows

MakeHarness = Callable[[], AttemptsHarness]


@pytest.fixture
def make_harness(tmp_path: Path, empty_database: Path) -> Iterator[MakeHarness]:
    """Yield a function that makes a data directory of its own."""
    numbers = count()
    with ExitStack() as stores:

        def make() -> AttemptsHarness:
            folder = tmp_path / str(next(numbers))
            folder.mkdir()
            shutil.copy(empty_database, folder)
            return AttemptsHarness(folder, stores.enter_context(Store.open(folder)))

        yield make


class Cuts:
    """A database that fails at one transaction: before it, or when it is committed and the answer is lost."""

    def __init__(self, harness: AttemptsHarness, place: int, *, is_committed: bool) -> None:
        self._begin = harness.store.begin
        self._left = place
        self._is_committed = is_committed
        self.happened = False

    @contextmanager
    def begin(self) -> Iterator[UnitOfWork]:
        self._left -= 1
        fails = self._left == -1
        self.happened = self.happened or fails
        if fails and not self._is_committed:
            raise DatabaseUnavailable("the database is away")
        with self._begin() as work:
            yield work
        if fails:
            raise DatabaseUnavailable("the database is away")


def store_all(harness: AttemptsHarness, claim: Claim) -> None:
    """Store what an attempt reports from its first row to its end, each report until it is stored."""
    written = [harness.written(claim, step) for step in (1, 2, 3)]
    reports = [
        AttemptReport(
            metric_rows=rows(1), logs=[Log("info", "one")], written=[written[0]], captured=[harness.captured(claim, 1)]
        ),
        AttemptReport(metric_rows=rows(2, 3), written=written[1:], captured=[harness.captured(claim, 2)]),
        AttemptReport(metric_rows=rows(4), verdict=Finished("succeeded")),
    ]
    for number, report in enumerate(reports, start=1):
        report.received = number
        while True:
            try:
                harness.attempts.record(claim, report)
            except DatabaseUnavailable:
                continue
            except Conflict:  # what ended the attempt is stored
                assert report.verdict is not None
            break


def outcome(harness: AttemptsHarness) -> dict[str, Any]:
    fit = harness.fit()
    with harness.store.begin() as work:
        last = work.events.last_metric_seq("fit_1")
    steps = [entry["step"] for entry in harness.events("checkpoint")]
    logs, ends = harness.events("log"), harness.events("end")
    return {
        "fit": (fit.state, fit.step, last), "kept": harness.kept(), "gradients": harness.gradients(),
        "checkpoints": steps, "logs": logs, "ends": ends,
    }  # fmt: skip


@pytest.mark.parametrize("is_committed", [False, True], ids=["before", "committed"])
def test_reports_come_to_the_same_wherever_the_database_cuts_them_off(
    make_harness: MakeHarness, is_committed: bool
) -> None:
    undisturbed = make_harness()
    store_all(undisturbed, undisturbed.begin())
    expected = outcome(undisturbed)
    for place in count():
        harness = make_harness()
        claim = harness.begin()
        cuts = Cuts(harness, place, is_committed=is_committed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(harness.store, "begin", cuts.begin)
            store_all(harness, claim)
        assert outcome(harness) == expected, f"cut off at transaction {place}"
        if not cuts.happened:
            break
    assert place > 4
