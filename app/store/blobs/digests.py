"""The SHA-256 of bytes that are written at the same time: to compute it takes longer than to write them."""

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor

LARGE_BYTES = 128 * 1024
"""Less is digested before another thread would have begun."""


class ParallelDigest:
    """Digests large pieces in a thread, which is started for the first of them, while the caller goes on."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._pending: Future[None] | None = None
        self._executor: ThreadPoolExecutor | None = None

    def update(self, data: bytes | bytearray) -> None:
        """Add bytes."""
        self._wait()
        # What can change, the caller may change before the thread has read it.
        if type(data) is not bytes or len(data) < LARGE_BYTES:
            self._hash.update(data)
            return
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="digest")
        self._pending = self._executor.submit(self._hash.update, data)

    def hexdigest(self) -> str:
        """Return the digest of all bytes so far, in hexadecimal."""
        self._wait()
        return self._hash.hexdigest()

    def close(self) -> None:
        """End the thread, if there is one; to add more bytes starts it again."""
        self._wait()
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None

    def _wait(self) -> None:
        if self._pending is not None:
            pending, self._pending = self._pending, None
            pending.result()
