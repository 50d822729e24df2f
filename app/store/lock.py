"""One server a data directory: the lock that a second one meets."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from app.domain.errors import DataDirectoryInUse
from app.durable import Durable

FILE_NAME = "adjoint.lock"


@contextmanager
def data_directory_lock(data_dir: Path, durable: Durable | None = None) -> Iterator[None]:
    """Hold `data_dir` (made if missing) for this process; DataDirectoryInUse at once if another one holds it.

    The system frees the lock when the process ends, however it ends: the file left behind means nothing.
    """
    (durable or Durable()).mkdir(data_dir.resolve())
    lock = FileLock(data_dir / FILE_NAME, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise DataDirectoryInUse(
            f"another server is using the data directory {data_dir.resolve()}; stop it, or set ADJOINT_DATA_DIR to "
            "another folder"
        ) from error
    try:
        yield
    finally:
        lock.release()
