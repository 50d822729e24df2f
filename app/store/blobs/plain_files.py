"""Opening files that nobody planted: regular ones with one name, reached by no symbolic link."""

import errno
import os
import stat
from pathlib import Path

from app.domain.errors import FileReplaced, NotFound

_CHUNK_BYTES = 1 << 20
# ELOOP: the last part is a symbolic link; ENXIO: a socket; ENOTDIR: a link, or a file, in the place of a folder.
NO_PLAIN_FILE = frozenset({errno.ELOOP, errno.ENXIO, errno.ENOTDIR})


def open_plain_file(path: Path, folder: int | None = None) -> int:
    """Open the file (in `folder`, a descriptor) for reading; NotFound, Planted unless it is plain and of one name."""
    # Not blocking: opening a planted pipe would wait for its writer.
    descriptor = _open_or_not_found(path, os.O_NONBLOCK, path.name, folder)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        os.close(descriptor)
        raise _planted(path.name)
    return descriptor


def open_plain_file_in(folder: Path, name: str) -> int:
    """Open the file `name` of a folder that is no symbolic link itself, as `open_plain_file` does."""
    descriptor = _open_or_not_found(folder, os.O_DIRECTORY, name)
    try:
        return open_plain_file(Path(name), descriptor)
    finally:
        os.close(descriptor)


def same_bytes(one: Path, other: Path) -> bool:
    """Whether two plain files have the same bytes, which is told much sooner than what their digest is."""
    with os.fdopen(open_plain_file(one), "rb") as first, os.fdopen(open_plain_file(other), "rb") as second:
        if os.fstat(first.fileno()).st_size != os.fstat(second.fileno()).st_size:
            return False
        while chunk := first.read(_CHUNK_BYTES):
            if second.read(_CHUNK_BYTES) != chunk:
                return False
    return True


def _open_or_not_found(path: Path, flags: int, name: str, folder: int | None = None) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise NotFound(f"there is no blob {name}") from error
        if error.errno in NO_PLAIN_FILE:
            raise _planted(name) from error
        raise


def _planted(name: str) -> FileReplaced:
    return FileReplaced(f"blob {name} is not a plain file with one name; restore it from a backup")
