"""The lock on a folder that attempts use one after another; each writes its number, which asks earlier ones to end."""

import fcntl
import os
from pathlib import Path

NAME = "lock"


class AttemptLock:
    """The claim of one attempt to a folder. The kernel releases the lock when this process exits."""

    def __init__(self, folder: Path, attempt: int) -> None:
        """Claim `folder`, which `lock` or `try_lock` then waits for; OSError if it does not exist."""
        self._path = folder / NAME
        self._attempt = attempt
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.pwrite(self._descriptor, b"%020d" % attempt, 0)

    def lock(self) -> None:
        """Wait until no other attempt uses the folder."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def try_lock(self) -> bool:
        """Lock the folder unless another attempt uses it; return whether it is locked."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    @property
    def is_claimed_later(self) -> bool:
        """Whether a later attempt waits for the folder."""
        return is_claimed_after(self._path.parent, self._attempt)

    def close(self) -> None:
        """Release the lock; this is the last call."""
        os.close(self._descriptor)


def is_claimed_after(folder: Path, attempt: int) -> bool:
    """Whether a later attempt than this one has claimed a folder."""
    try:
        return int((folder / NAME).read_text(encoding="ascii")) > attempt
    except (OSError, ValueError):
        return False
