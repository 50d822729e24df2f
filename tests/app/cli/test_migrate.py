"""`adjoint migrate` moves a database to PostgreSQL: as a whole, compared, and going on where it was stopped."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.__main__ import main
from app.cli.migration import MOVED
from app.domain.clock import SystemClock
from app.service.admin.directory_identity import open_database
from app.service.admin.quarantine import Quarantine
from app.store import copying
from app.store.database import FILE_NAME, Database
from app.store.transfer import transfer
from app.system.durable import Durable
from tests.support import backends, postgres
from tests.support.fits import fit_record

pytestmark = pytest.mark.skipif(not postgres.AVAILABLE, reason=postgres.MISSING)

ROWS = 250
MOMENT = datetime(2026, 2, 3, 4, 5, 6, 789_000, UTC)

Outcome = Callable[..., tuple[int, str]]


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with backends.postgres_database() as created:
        monkeypatch.setenv("ADJOINT_DATABASE_URL", created)
        yield created


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Outcome:
    """Run a command and return its exit status with all it printed."""

    def outcome(*arguments: str) -> tuple[int, str]:
        capfd.readouterr()
        status = main([*arguments])
        printed = capfd.readouterr()
        return status, printed.out + printed.err

    return outcome


def filled(folder: Path) -> Path:
    clock, durable = SystemClock(), Durable()
    with open_database(folder, clock, durable, Quarantine(folder, durable, clock)) as store, store.begin() as work:
        fit = fit_record("fit_1", created_at=MOMENT, latest={"loss": float("inf")}, seconds=1 / 3)
        work.fits.add(fit)
        work.events.append_metrics("fit_1", [(number, f'{{"é":{number}}}') for number in range(1, ROWS + 1)])
    return folder


def test_a_stopped_move_goes_on_and_ends_with_the_same_rows(
    url: str, run: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = filled(tmp_path / "data")
    monkeypatch.setattr(copying, "BATCH_ROWS", 100)
    with (
        closing(Database.open(data_dir)) as source,
        backends.open_postgres(url, SystemClock()) as target,
        closing(transfer(source, target.database)) as moving,
    ):
        next(count for name, count in moving if (name, count) == ("events", 100))
    with backends.open_postgres(url, SystemClock()) as target, target.read() as work:
        assert 0 < work.events.last_metric_seq("fit_1") < ROWS
    status, said = run("migrate", "--data-dir", str(data_dir))
    assert (status, f"{ROWS} events" in said) == (0, True), said
    assert (data_dir / MOVED).is_file()
    assert not (data_dir / FILE_NAME).exists()
    with backends.open_postgres(url, SystemClock()) as target, target.read() as work:
        assert [row.metric_seq for row in work.events.metrics("fit_1", 0, 1000)] == [*range(1, ROWS + 1)]
        assert work.fits.get("fit_1").seconds == 1 / 3
    assert run("verify", "--data-dir", str(data_dir))[0] == 0
    status, said = run("migrate", "--data-dir", str(data_dir))
    assert (status, "moved already" in said) == (2, True)


def test_what_cannot_be_moved_stays_where_it_is(
    url: str, run: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = filled(tmp_path / "first"), filled(tmp_path / "second")
    assert run("migrate", "--data-dir", str(first))[0] == 0
    status, said = run("migrate", "--data-dir", str(second))
    assert (status, "another data directory" in said) == (2, True)
    monkeypatch.delenv("ADJOINT_DATABASE_URL")
    status, said = run("migrate", "--data-dir", str(second))
    assert (status, "set ADJOINT_DATABASE_URL" in said) == (2, True)
    assert (second / FILE_NAME).is_file()
