"""What only PostgreSQL has: units of work beside one another, lost connections, notifications, settings."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.clock import SystemClock
from app.domain.errors import DatabaseBusy, DatabaseUnavailable, DatabaseUnusable, Gone, Invalid, NotFound
from app.domain.fit import FitRecord
from app.domain.records import CheckpointRecord, DatasetRecord
from app.ingest.limits import IngestLimits
from app.service.resources.blobs import BlobSweeper, Integrity
from app.service.resources.checkpoints import Checkpoints
from app.service.resources.datasets import Datasets, Ingestion
from app.service.resources.storage import DiskSpace
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store, UnitOfWork
from tests.support import backends, postgres
from tests.support.manual_clock import ManualClock
from tests.support.patience import PATIENCE
from tests.support.storage import storage_context

if not postgres.AVAILABLE:
    pytest.skip(postgres.MISSING, allow_module_level=True)

import psycopg
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import OperationalError

from app.store.copying import digest_tables
from app.store.database import Database
from app.store.postgres import changes, schema
from app.store.postgres.database import PostgresDatabase, PostgresOptions
from app.store.tables import metadata

pytestmark = pytest.mark.slow
AFit = Callable[..., FitRecord]
THREADS = 8


@pytest.fixture
def url() -> Iterator[str]:
    with backends.postgres_database() as created:
        yield created


@pytest.fixture
def shared(url: str, clock: ManualClock) -> Iterator[Store]:
    with backends.open_postgres(url, clock) as opened:
        yield opened


@pytest.fixture
def admin(url: str) -> Iterator[Engine]:
    """Connect as an operator does."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    yield engine
    engine.dispose()


def terminate_others(admin: Engine, where: str = "true") -> int:
    """End the connections of the servers to the database."""
    statement = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        f"WHERE datname = current_database() AND application_name = 'adjoint' AND {where}"
    )
    with admin.connect() as connection:
        return int(connection.execute(text(statement)).scalar_one())


def test_text_that_postgresql_cannot_hold_is_an_error_of_the_input(shared: Store, a_fit: AFit) -> None:
    with shared.begin() as work:
        work.fits.add(a_fit("fit_1"))
    with pytest.raises(Invalid, match="NUL"), shared.begin() as work:
        work.events.append_metrics("fit_1", [(1, "a\0b")])
    with pytest.raises(Invalid, match="NUL"), shared.begin() as work:
        work.events.append("fit_1", "log", "a\0b")
    with shared.read() as work:
        assert work.events.last_seq("fit_1") == 0


def test_the_migrations_make_the_tables_that_the_code_expects(shared: Store, admin: Engine) -> None:
    with admin.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        texts = connection.execute(
            text("SELECT DISTINCT collation_name FROM information_schema.columns WHERE data_type = 'text' "
                 "AND table_schema = 'public'")
        )  # fmt: skip
        assert texts.scalars().all() == ["C"]


def test_claimers_beside_one_another_claim_each_fit_once(shared: Store, a_fit: AFit) -> None:
    count = 40
    with shared.begin() as work:
        for number in range(count):
            work.fits.add(a_fit(f"fit_{number:02}", share=f"team {number % 3}"))

    claimed: list[str] = []

    def claim_all(_: int) -> None:
        end = time.monotonic() + PATIENCE
        while len(claimed) < count and time.monotonic() < end:
            with shared.begin() as work:
                fit = work.queue.claim()
                if fit is not None:
                    work.attempts.start(fit.id, fit.attempt, f"token of {fit.id}")
            if fit is not None:
                claimed.append(fit.id)

    with ThreadPoolExecutor(THREADS) as pool:
        [*pool.map(claim_all, range(THREADS))]
    assert sorted(claimed) == [f"fit_{number:02}" for number in range(count)]


def await_waiting(admin: Engine, transactions: int) -> None:
    """Wait until this many transactions wait for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    end = time.monotonic() + PATIENCE
    with admin.connect() as connection:
        while connection.execute(text(waiting)).scalar_one() < transactions:
            assert time.monotonic() < end


@contextmanager
def reporting(shared: Store, admin: Engine, fit_id: str, client: Callable[[], object]) -> Iterator[UnitOfWork]:
    """Work as a report of the fit does, which locks that first, while `client` waits for a lock."""
    with ThreadPoolExecutor(1) as pool:
        with shared.begin() as work:
            work.fits.get(fit_id)
            answer = pool.submit(client)
            await_waiting(admin, 1)
            yield work
        answer.result(PATIENCE)


def test_a_client_changes_a_variant_while_its_sweep_reports(shared: Store, admin: Engine, a_fit: AFit) -> None:
    with shared.begin() as work:
        work.fits.add(a_fit("sweep"))
        work.fits.add(a_fit("variant", parent_id="sweep"))

    def cancel() -> None:
        with shared.begin() as work:
            variant = work.fits.get("variant")
            work.fits.update(work.fits.get("sweep"))
            work.fits.update(variant)

    with reporting(shared, admin, "sweep", cancel) as work:
        work.fits.get("variant")


def test_a_client_deletes_a_checkpoint_while_its_fit_reports(
    shared: Store, admin: Engine, a_fit: AFit, a_checkpoint: Callable[..., CheckpointRecord], tmp_path: Path
) -> None:
    with shared.begin() as work:
        work.fits.add(a_fit())
        for step in (3, 4):
            work.checkpoints.add(a_checkpoint(f"ckpt_{step}", step=step))
    checkpoints = Checkpoints(storage_context(shared, LocalBlobStore(tmp_path), tmp_path / "scratch"))
    with (
        pytest.raises(Gone),
        reporting(shared, admin, "fit_1", lambda: checkpoints.delete("ckpt_3")) as work,
    ):
        work.checkpoints.delete("ckpt_3")


def test_clients_delete_a_dataset_together_when_a_fit_was_submitted(
    shared: Store, admin: Engine, a_dataset: Callable[..., DatasetRecord], tmp_path: Path
) -> None:
    with shared.begin() as work:
        work.datasets.add(a_dataset())
    blobs = LocalBlobStore(tmp_path)
    ingestion = Ingestion(blobs, tmp_path, DiskSpace(tmp_path, 0), IngestLimits(), SystemClock())
    datasets = Datasets(shared, Integrity(shared, blobs), ingestion, BlobSweeper(shared, blobs))

    def delete(_: int) -> str:
        try:
            datasets.delete("ds_1")
        except NotFound:
            return "not found"
        return "deleted"

    with ThreadPoolExecutor(2) as pool:
        with shared.begin() as work:
            work.datasets.get("ds_1")
            answers = pool.map(delete, range(2))
            await_waiting(admin, 2)
        assert sorted(answers) == ["deleted", "not found"]


def test_migrations_that_end_in_a_deadlock_are_tried_again(
    monkeypatch: pytest.MonkeyPatch, admin: Engine, shared: Store
) -> None:
    begun = []

    def fail(*_: object) -> None:
        begun.append(1)
        if len(begun) < 3:
            raise OperationalError("ALTER TABLE fits", {}, psycopg.errors.DeadlockDetected("deadlock detected"))

    monkeypatch.setattr(schema, "read_revision", lambda _: "an older one")
    monkeypatch.setattr(schema, "_migrate", fail)
    schema.bring_up_to_date(admin)
    assert len(begun) == 3
    monkeypatch.setattr(schema, "TRIES", 1)
    begun.clear()
    with pytest.raises(OperationalError):
        schema.bring_up_to_date(admin)


def test_numbers_have_no_gaps_though_many_write(shared: Store, a_fit: AFit) -> None:
    with shared.begin() as work:
        work.fits.add(a_fit())
        fit = work.queue.claim()
        assert fit is not None
        work.attempts.start(fit.id, fit.attempt, "token")

    def write(_: int) -> None:
        with shared.begin() as work:
            work.attempts.guard("fit_1", "token")
            first = work.events.last_metric_seq("fit_1") + 1
            work.events.append_metrics("fit_1", [(first, "{}"), (first + 1, "{}")])
            work.fits.update(replace(work.fits.get("fit_1"), step=first + 1))

    with ThreadPoolExecutor(THREADS) as pool:
        [*pool.map(write, range(40))]
    with shared.read() as work:
        rows = work.events.metrics("fit_1", 0, 1000)
        assert [(row.seq, row.metric_seq) for row in rows] == [(number, number) for number in range(1, 81)]
        assert work.fits.get("fit_1").step == 80


def test_a_key_is_kept_once_by_who_comes_first(shared: Store) -> None:
    gate = threading.Barrier(2)

    def keep(body: str) -> str:
        try:
            with shared.begin() as work:
                assert work.idempotency.find("key", "POST /v1/fits") is None
                gate.wait(PATIENCE)
                work.idempotency.add("key", "POST /v1/fits", body_digest=body, status=202, response_body=body)
        except DatabaseBusy:
            return ""
        return body

    with ThreadPoolExecutor(2) as pool:
        kept = [*pool.map(keep, ["a", "b"])]
    with shared.read() as work:
        found = work.idempotency.find("key", "POST /v1/fits")
    assert found is not None
    assert Counter(kept) == Counter(["", found.response_body])


def test_who_reads_waits_for_nobody_and_sees_one_moment(shared: Store, a_fit: AFit) -> None:
    with shared.begin() as work:
        work.fits.add(a_fit())
    with ThreadPoolExecutor(1) as pool, shared.read() as reading:
        before = reading.fits.get("fit_1")

        def change() -> None:
            with shared.begin() as work:
                work.fits.update(replace(work.fits.get("fit_1"), step=5))

        pool.submit(change).result(PATIENCE)
        assert reading.fits.get("fit_1") == before


def test_what_a_lost_connection_takes_along_is_named_and_the_next_one_works(
    shared: Store, a_fit: AFit, admin: Engine
) -> None:
    def add_and_lose() -> None:
        with shared.begin() as work:
            work.fits.add(a_fit())
            assert terminate_others(admin) == 1

    with pytest.raises(DatabaseUnavailable, match="nothing was changed") as caught:
        add_and_lose()
    assert caught.value.headers["Retry-After"]
    with shared.begin() as work:
        with pytest.raises(NotFound):
            work.fits.get("fit_1")
        work.fits.add(a_fit())
    assert terminate_others(admin) == 1  # an idle one: nobody notices
    with shared.read() as work:
        assert work.fits.get("fit_1").id == "fit_1"


def test_a_commit_whose_answer_is_lost_is_looked_up(shared: Store, a_fit: AFit, admin: Engine) -> None:
    """A commit that waits for a standby has happened already, and the connection may end before it is answered."""

    def wait_for_standby(name: str) -> None:
        with admin.connect() as connection:
            connection.exec_driver_sql(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
            connection.execute(text("SELECT pg_reload_conf()"))

    def add(number: int) -> None:
        with shared.begin() as work:
            work.fits.add(a_fit(f"fit_{number}"))

    wait_for_standby("none")
    try:
        with ThreadPoolExecutor(1) as pool:
            number = 1
            added = pool.submit(add, number)
            end = time.monotonic() + PATIENCE
            while not terminate_others(admin, "wait_event = 'SyncRep'"):
                assert time.monotonic() < end, "no commit waits for the standby"
                if added.done():  # before the setting was read
                    added.result()
                    number += 1
                    added = pool.submit(add, number)
            wait_for_standby("")
            added.result(PATIENCE)
    finally:
        wait_for_standby("")
    with shared.read() as work:
        assert work.fits.get(f"fit_{number}").id == f"fit_{number}"


def test_a_commit_that_a_crash_cuts_off_is_not_taken_for_that_of_another_transaction(
    clock: ManualClock, a_fit: AFit
) -> None:
    with postgres.postgres_server() as server:
        database = PostgresDatabase.open(PostgresOptions(server.create_database()))

        def crash(connection: Connection) -> None:
            """Have PostgreSQL crash, and give the id of the transaction to another one, which is committed."""
            xid = connection.exec_driver_sql("SELECT pg_current_xact_id()::text::bigint").scalar_one()
            server.stop("immediate")
            server.start()
            with database.engine.connect() as other:
                others = (
                    other.execution_options(isolation_level="AUTOCOMMIT")
                    .exec_driver_sql("SELECT pg_current_xact_id()::text::bigint")
                    .scalar_one()
                    for _ in range(1000)
                )
                assert any(each >= xid for each in others)

        with Store(database, clock) as store:
            event.listen(database.engine, "commit", crash, once=True)
            with pytest.raises(DatabaseUnavailable), store.begin() as work:
                work.fits.add(a_fit("fit_1"))
            with store.read() as work, pytest.raises(NotFound):
                work.fits.get("fit_1")


def test_other_servers_hear_of_changes_and_of_gaps(shared: Store, url: str, a_fit: AFit, admin: Engine) -> None:
    heard, gap = threading.Event(), threading.Semaphore(0)
    own: list[str] = []

    def on_change(name: str) -> None:
        if name == "fit_1":
            heard.set()

    shared.listen(own.append, lambda: None)
    with backends.open_postgres(url, SystemClock()) as other:
        other.listen(on_change, gap.release)
        assert gap.acquire(timeout=PATIENCE)  # it listens
        with shared.begin() as work:
            work.fits.add(a_fit())
            work.events.append("fit_1", "log", "{}")
        assert heard.wait(PATIENCE)
        assert own == []
        heard.clear()
        terminate_others(admin)
        assert gap.acquire(timeout=PATIENCE)  # it listens again, and may have missed some
        with shared.begin() as work:
            work.events.append("fit_1", "log", "{}")
        assert heard.wait(PATIENCE)


def test_one_server_at_a_time_uses_a_database(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "TAKE_OVER_SECONDS", 0.0)
    first, second = (PostgresDatabase.open(PostgresOptions(url)) for _ in range(2))
    first.occupy()
    with pytest.raises(DatabaseUnusable, match="another server is using"):
        second.occupy()
    first.close()
    second.close()
    third = PostgresDatabase.open(PostgresOptions(url))
    third.occupy()
    third.close()


def test_what_cannot_be_used_is_named_at_the_start_without_the_password(url: str, admin: Engine) -> None:
    server = backends.shared_server()
    for wrong, expected in {
        "postgresql://ann:hunter2@127.0.0.1:1/adjoint": "at 127.0.0.1:1, database 'adjoint'.*refused.*start it",
        server.url("postgres", "guarded", "hunter2"): "password authentication failed.*check the user and the password",
        server.url("nowhere"): '"nowhere" does not exist.*create the database',
        server.url("postgres", "nobody_here"): '"nobody_here" does not exist; check the user',
        f"{url}?sslmode=sometimes": "invalid sslmode value.*correct the parameters",
        f"{url}?sslmod=require": '"sslmod"; correct the parameters',
        "postgresql:hunter2": "is no URL",
        "postgresql://ann:hunter2@127.0.0.1:hunter2/adjoint": "is no URL",
        "postgresql://ann:a@hunter2@127.0.0.1:1/adjoint": "is no URL.*%40 for @",
    }.items():
        with pytest.raises(DatabaseUnusable, match=f"(?s){expected}") as caught:
            PostgresDatabase.open(PostgresOptions(wrong))
        assert "hunter2" not in str(caught.value.detail)
    with admin.connect() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DatabaseUnusable, match=r"revision 9999.*newer"):
        PostgresDatabase.open(PostgresOptions(url))
    empty = server.create_database()
    with pytest.raises(DatabaseUnusable, match=r"at revision none.*ADJOINT_DATABASE_MIGRATE=true"):
        PostgresDatabase.open(PostgresOptions(empty, migrate=False))
    server.drop_database(empty)


def test_a_user_without_rights_is_named_at_the_start(url: str, admin: Engine) -> None:
    server = backends.shared_server()
    with pytest.raises(DatabaseUnusable, match=r"permission denied for table .*; grant its user the rights"):
        PostgresDatabase.open(PostgresOptions(server.url(url.rpartition("/")[2], "guarded", "another")))
    with admin.connect() as connection:
        connection.exec_driver_sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guarded")
        connection.exec_driver_sql("GRANT INSERT, UPDATE, DELETE ON fits TO guarded")
    with pytest.raises(DatabaseUnusable, match=r"may not read and write the tables api_keys, .*; grant it") as caught:
        PostgresDatabase.open(PostgresOptions(server.url(url.rpartition("/")[2], "guarded", "another")))
    assert " fits," not in caught.value.detail
    with admin.connect() as connection:
        connection.exec_driver_sql("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guarded")
    PostgresDatabase.open(PostgresOptions(server.url(url.rpartition("/")[2], "guarded", "another"))).close()
    empty = server.create_database()
    with pytest.raises(DatabaseUnusable, match=r"permission denied for schema public; start one server as the user"):
        PostgresDatabase.open(PostgresOptions(server.url(empty.rpartition("/")[2], "guarded", "another")))
    server.drop_database(empty)


def test_a_snapshot_is_an_sqlite_database_with_the_same_rows(shared: Store, a_fit: AFit, tmp_path: Path) -> None:
    with shared.begin() as work:
        work.fits.add(a_fit(seconds=0.1 + 0.2, latest={"loss": float("nan")}))
        work.events.append_metrics("fit_1", [(number, '{"a":"é"}') for number in range(1, 2500)])
    snapshot = shared.snapshot(tmp_path)
    assert snapshot.counts["events"] == 2499
    copied = Database.open(tmp_path)
    with copied.transaction() as connection, shared._database.transaction(read_only=True) as source:
        assert digest_tables(connection) == digest_tables(source)
    copied.close()
