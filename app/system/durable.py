"""Durable operations: all that must survive a crash is done here, so that a test can cut in before each operation.

A process killed before its n-th operation, for every n there is, has been killed in every state that it can leave
behind; random kills miss the narrow ones.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import signal
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

_fdatasync = getattr(os, "fdatasync", os.fsync)  # not every system has it


class Durable:
    """Counts the operations that last, and can end the process or fail right before one of them. Safe in threads."""

    def __init__(self, *, kill_at: int | None = None, fail_at: int | None = None, syncs: bool = True) -> None:
        """Kill this process before operation `kill_at`, and fail instead of `fail_at`; the first one is 1.

        Without `syncs` nothing waits for the disk: for copies of what lasts elsewhere.
        """
        self._syncs = syncs
        self._kill_at = kill_at
        self._fail_at = fail_at
        self._lock = threading.Lock()
        self.operations = 0

    def about_to(self, operation: str, *paths: Path) -> None:
        """Count an operation on `paths`, which follows at once; OSError (EIO) if it is the one to fail."""
        # No other thread may get ahead of the signal: hence in the lock.
        with self._lock:
            self.operations += 1
            if self.operations == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.operations == self._fail_at:
                raise OSError(errno.EIO, f"set to fail at operation {self._fail_at}, {operation}", *map(str, paths[:1]))

    def create(self, path: Path) -> "DurableFile":
        """Create a file for writing, which must not be there yet."""
        self.about_to("create", path)
        return DurableFile(self, path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    def append(self, path: Path) -> "DurableFile":
        """Open a file that is there, to write on at its end."""
        return DurableFile(self, path, os.O_WRONLY | os.O_APPEND)

    def fsync(self, descriptor: int, path: Path) -> None:
        """Wait until the content of the open file is on the disk."""
        self.about_to("fsync", path)
        if self._syncs:
            os.fsync(descriptor)

    def fdatasync(self, descriptor: int, path: Path) -> None:
        """Wait likewise, as far as it takes to read the file again: not for the times that it keeps of itself."""
        self.about_to("fsync", path)
        if self._syncs:
            _fdatasync(descriptor)

    def rename(self, path: Path, target: Path) -> None:
        """Move a file, over another one if there is one. It may be undone by a power cut until the folder is synced."""
        self.about_to("rename", path, target)
        path.rename(target)

    def unlink(self, path: Path) -> None:
        """Delete a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            path.lstat()
            self.about_to("unlink", path)
            path.unlink()

    def mkdir(self, folder: Path) -> None:
        """Make a folder for this user alone, and those above it, each of which lasts; nothing to do if it is there."""
        missing = [each for each in (folder, *folder.parents) if not each.is_dir()]
        for each in reversed(missing):
            self.about_to("mkdir", each)
            each.mkdir(mode=0o700, exist_ok=True)
            try:
                self.sync_folder(each.parent)
            except OSError:
                # Else it would be found there the next time, and taken for one that lasts.
                with contextlib.suppress(OSError):
                    each.rmdir()
                raise

    def sync_folder(self, folder: Path) -> None:
        """Wait until the folder names on the disk what it names now."""
        self.about_to("fsync", folder)
        if not self._syncs:
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def remove_tree(self, folder: Path) -> None:
        """Delete a folder and what is in it, if it is there and as far as it can be."""
        if folder.is_dir():
            self.about_to("rmtree", folder)
            shutil.rmtree(folder, ignore_errors=True)


class DurableFile:
    """A file that is being written, without a buffer: a full or failing disk is met by the write that meets it."""

    def __init__(self, durable: Durable, path: Path, flags: int) -> None:
        self._durable = durable
        self.path = path
        self._descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)

    def fileno(self) -> int:
        """Return the descriptor, while the file is open."""
        return self._descriptor

    def write(self, data: bytes | bytearray) -> int:
        """Write all of `data`."""
        self._durable.about_to("write", self.path)
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[os.write(self._descriptor, remaining) :]
        return len(data)

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        self._durable.fsync(self._descriptor, self.path)

    def sync_data(self) -> None:
        """Wait likewise, as far as it takes to read it again."""
        self._durable.fdatasync(self._descriptor, self.path)

    def truncate(self, size: int) -> None:
        """Cut off what is behind the first `size` bytes, which lasts once the file is synced."""
        self._durable.about_to("truncate", self.path)
        os.ftruncate(self._descriptor, size)

    def close(self) -> None:
        """Close the file; nothing is synced by that."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Writable(Protocol):
    """An object that bytes are written to."""

    def write(self, data: bytes, /) -> object:
        """Write all of `data`."""
        ...


class HashingWriter:
    """Passes bytes on to a file and computes their digest."""

    def __init__(self, file: Writable) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def digest(self) -> str:
        """The SHA-256 of what was written so far, in hexadecimal."""
        return self._hash.hexdigest()

    def write(self, data: Any) -> object:
        """Write all of `data`."""
        self._hash.update(data)
        self.size += len(data)
        return self._file.write(data)
