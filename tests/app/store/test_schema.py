import ast
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from app.domain.errors import DatabaseUnusable
from app.store import database as store_database
from app.store import migrations
from app.store.database import FILE_NAME, Database
from app.store.migrations import HEAD
from app.store.tables import metadata

SEVERAL_SERVERS = "r0020_servers.py"
"""The migration since which several servers use a database."""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database.open(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def migrated(tmp_path: Path) -> Iterator[Database]:
    """Open a database that began at the first revision and went through all that followed."""
    (tmp_path / "migrated").mkdir()
    _upgrade(tmp_path / "migrated" / FILE_NAME, "0001")
    opened = Database.open(tmp_path / "migrated")
    yield opened
    opened.close()


def _upgrade(path: Path, revision: str) -> None:
    """Run the migrations of an empty database up to a revision."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", "app.store:migrations")
        command.upgrade(config, revision)
    engine.dispose()


def _contents(database: Database) -> tuple[dict[tuple[str, str], str | None], list[str]]:
    """Return the statements, without white space, that made everything in the database, and its revision."""
    with database.connection.begin():
        created = database.connection.exec_driver_sql("SELECT type, name, sql FROM sqlite_master").all()
        revisions = database.connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all()
    return {(kind, name): sql and "".join(sql.split()) for kind, name, sql in created}, [*revisions]


def test_the_migrations_make_the_tables_that_the_code_expects(migrated: Database) -> None:
    context = MigrationContext.configure(
        migrated.connection, opts={"compare_type": True, "compare_server_default": True}
    )
    with migrated.connection.begin():
        assert compare_metadata(context, metadata) == []


def test_the_migrations_make_word_for_word_what_a_new_database_has(migrated: Database, database: Database) -> None:
    created, revisions = _contents(migrated)
    for table in metadata.sorted_tables:
        expected = str(CreateTable(table).compile(dialect=sqlite.dialect()))
        assert created["table", table.name] == "".join(expected.split())
    assert _contents(database) == (created, revisions)
    assert revisions == [HEAD]


def test_the_head_in_the_code_is_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", "app.store:migrations")
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def test_a_new_database_is_at_the_head(database: Database) -> None:
    assert store_database.revision(database.connection) == HEAD
    assert not database.connection.in_transaction()


def test_foreign_keys_are_on_again_after_migrating(migrated: Database) -> None:
    assert migrated.connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1


def test_a_database_of_a_newer_server_is_refused_and_left_alone(tmp_path: Path) -> None:
    Database.open(tmp_path).close()
    path = tmp_path / FILE_NAME
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(DatabaseUnusable, match=r"revision 9999.*newer"):
        Database.open(tmp_path)
    assert path.read_bytes() == before


def test_a_migration_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE idempotency_keys (here INTEGER)")
    connection.commit()
    with pytest.raises(DatabaseUnusable, match="idempotency_keys"):
        Database.open(tmp_path)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    connection.close()
    assert names == ["idempotency_keys"]


def test_a_fit_of_the_first_revision_ended_for_no_known_reason(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    _upgrade(path, "0001")
    with sqlite3.connect(path) as old:
        names = [name for _, name, *_ in old.execute("PRAGMA table_info(fits)")]
        texts = {"id": "fit_1", "state": "succeeded", "request": "{}", "labels": "{}", "latest": "{}"}
        values = [texts.get(name, 0) for name in names]
        old.execute(f"INSERT INTO fits VALUES ({', '.join('?' * len(names))})", values)
    old.close()
    database = Database.open(tmp_path)
    with database.connection.begin():
        found = database.connection.exec_driver_sql("SELECT id, stop_reason FROM fits").all()
    database.close()
    assert found == [("fit_1", None)]


REQUESTS = {
    "{}": {"divergence": {"action": "continue"}},
    '{"divergence":null,"clip":null}': {"divergence": {"action": "continue"}, "clip": None},
    '{"divergence":{"limit":3}}': {"divergence": {"limit": 3, "action": "continue"}},
    '{"divergence":{"action":"skip"}}': {"divergence": {"action": "skip"}},
    '{"clip":{"nonfinite":"error"}}': {"clip": {"nonfinite": "error"}},
    '{"clip":{"norm":1.0}}': {"clip": {"norm": 1.0}, "divergence": {"action": "continue"}},
}


def test_a_stored_fit_keeps_what_it_did_about_a_loss_that_is_not_finite(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    _upgrade(path, "0010")
    with sqlite3.connect(path) as old:
        names = [(name, default) for _, name, _, _, default, _ in old.execute("PRAGMA table_info(fits)")]
        columns = [name for name, default in names if default is None]
        for place, request in enumerate(REQUESTS):
            texts = {"id": f"fit_{place}", "state": "queued", "request": request, "labels": "{}", "latest": "{}"}
            values = [texts.get(name, 0) for name in columns]
            places = ", ".join("?" * len(columns))
            old.execute(f"INSERT INTO fits ({', '.join(columns)}) VALUES ({places})", values)
    old.close()
    database = Database.open(tmp_path)
    with database.connection.begin():
        found = database.connection.exec_driver_sql("SELECT request FROM fits ORDER BY id").scalars().all()
    database.close()
    assert [json.loads(request) for request in found] == list(REQUESTS.values())


def breaking_changes(source: str) -> list[str]:
    """Return what a migration does that a server of the version before would not survive."""
    found = []
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        operation = ast.unparse(call.func).rpartition(".")[2]
        if operation in ("drop_table", "drop_column", "rename_table", "alter_column"):
            found.append(operation)
        if operation == "add_column":
            column = next(each for each in call.args if isinstance(each, ast.Call))
            options = {keyword.arg: ast.unparse(keyword.value) for keyword in column.keywords}
            if options.get("nullable") == "False" and "server_default" not in options:
                found.append("a column without a default")
    return found


def test_migrations_only_add_since_servers_of_two_versions_may_run_beside_one_another() -> None:
    folder = Path(migrations.__file__).parent / "versions"
    sources = {path.name: path.read_text("utf-8") for path in folder.glob("r*.py")}
    since = {name: source for name, source in sources.items() if name >= SEVERAL_SERVERS}
    assert SEVERAL_SERVERS in since
    assert {name: found for name, source in since.items() if (found := breaking_changes(source))} == {}
    assert breaking_changes(sources["r0009_tenants.py"])
    assert breaking_changes("op.add_column('fits', sa.Column('a', sa.Text, nullable=False))")
