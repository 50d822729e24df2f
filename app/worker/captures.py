"""Captured gradients as files: written to the end, synced, and only then given the name that the server is told."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import engine
from app.domain.messages import GradientWritten
from app.domain.storage_faults import storage_faults
from app.system.durable import Durable, DurableFile


def write_gradient(durable: Durable, gradient: engine.CapturedGradient, path: Path) -> GradientWritten:
    """Write a captured gradient to `path` as .npy, and return what there is to be told of it.

    bfloat16, for which the format has no name, becomes float32. StorageFull or StorageFailed if it cannot be written.
    """
    array = gradient.array if gradient.array.dtype.name != "bfloat16" else gradient.array.astype(np.float32)
    partial = path.with_suffix(".partial")
    with storage_faults("a captured gradient"), removed_on_error(partial):
        with durable.create(partial) as file:
            hashed = _Hashed(file)
            np.lib.format.write_array(hashed, array, allow_pickle=False)
            file.sync()
        durable.rename(partial, path)
    return GradientWritten(
        path=str(path),
        step=gradient.step,
        parameter=gradient.name,
        dtype=array.dtype.name,
        shape=list(array.shape),
        digest=hashed.digest,
        size_bytes=hashed.size,
    )


@contextmanager
def removed_on_error(path: Path) -> Iterator[None]:
    """Delete the unfinished file at `path` if the block raises: what it takes may be the room that others wait for."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise


class _Hashed:
    """Hands bytes on to a file, and takes their digest on the way."""

    def __init__(self, file: DurableFile) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def write(self, data: Any) -> int:
        self._hash.update(data)
        self.size += len(data)
        return self._file.write(data)
