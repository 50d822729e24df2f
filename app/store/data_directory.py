"""The data directory: the lock of the server that uses it, or of those that share it, and its identity."""

import fcntl
import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Connection, insert, select

from app.domain.errors import DataDirectoryInUse
from app.store.tables import identity
from app.system.durable import Durable

FILE_NAME = "adjoint.lock"
SERVERS = "servers"
"""The folder of what each of several servers has for itself."""

SERVER_FOLDERS = 1000
START_SECONDS = 60.0

_logger = logging.getLogger(__name__)


@contextmanager
def data_directory_lock(data_dir: Path, durable: Durable | None = None) -> Iterator[None]:
    """Hold `data_dir` (made if missing) for this process; DataDirectoryInUse at once if another one holds it.

    The system frees the lock when the process ends, however it ends: the file left behind means nothing.
    """
    (durable or Durable()).mkdir(data_dir.resolve())
    lock = FileLock(data_dir / FILE_NAME, timeout=0)
    with _locked_folder(data_dir, fcntl.LOCK_EX):
        try:
            lock.acquire()
        except Timeout as error:
            raise _in_use(data_dir) from error
        try:
            yield
        finally:
            lock.release()


@contextmanager
def shared_data_directory(data_dir: Path, durable: Durable | None = None) -> Iterator[Path]:
    """Share `data_dir` with other servers of one database; DataDirectoryInUse if one has it for itself.

    Yields the folder that this server alone writes to: the first that no other holds. What an earlier server has left
    in it is there still.
    """
    durable = durable or Durable()
    durable.mkdir(data_dir.resolve())
    with _locked_folder(data_dir, fcntl.LOCK_SH), ExitStack() as held:
        for number in range(SERVER_FOLDERS):
            folder = data_dir.resolve() / SERVERS / str(number)
            durable.mkdir(folder)
            try:
                held.enter_context(_locked_folder(folder, fcntl.LOCK_EX))
            except DataDirectoryInUse:
                continue
            yield folder
            return
        raise _in_use(data_dir)


@contextmanager
def starting_alone(data_dir: Path) -> Iterator[None]:
    """Have no other server of this data directory start during the block; DataDirectoryInUse if one takes too long.

    For servers that share the directory already.
    """
    give_up_at = time.monotonic() + START_SECONDS
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(_locked_folder(data_dir / SERVERS, fcntl.LOCK_EX))
            except DataDirectoryInUse:
                if time.monotonic() > give_up_at:
                    raise
                time.sleep(0.05)
            else:
                break
        yield


@contextmanager
def _locked_folder(folder: Path, kind: int) -> Iterator[None]:
    """Lock the folder itself, which no one can delete and make again as they can the file.

    The file is locked besides: servers of older versions look at nothing else, and not every file system has locks of
    folders.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _in_use(folder) from error
        except OSError as error:
            _logger.warning("the data directory cannot be locked as a folder (%s); its lock file has to do", error)
        yield
    finally:
        os.close(descriptor)


def _in_use(data_dir: Path) -> DataDirectoryInUse:
    return DataDirectoryInUse(
        f"another server is using the data directory {data_dir.resolve()}; stop it, or set ADJOINT_DATA_DIR to another "
        "folder"
    )


class Identity:
    """The identity of the data directory, within one unit of work."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self) -> str | None:
        """Return it; None in a database that was not opened by a server with this table yet."""
        found: str | None = self._connection.execute(select(identity.c.id)).scalar()
        return found

    def set(self, directory_id: str) -> None:
        """Store it in a database that has none."""
        self._connection.execute(insert(identity), {"id": directory_id})
