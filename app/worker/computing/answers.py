"""Answers of a process that computes: short ones as bytes, long ones as files that the server sends and deletes."""

import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import StorageFull
from app.domain.media import JSON, NPY
from app.domain.storage_faults import storage_faults
from app.ingest.encoding.tensors import json_pieces
from app.worker.computing.allowance import answer_too_large

INLINE_BYTES = 1 << 20
"""Longer answers go through a file."""

CHUNK = 1 << 20


class Answers:
    """Writes answers of limited length."""

    def __init__(self, folder: Path, most_bytes: int, min_free_bytes: int) -> None:
        """Write files to `folder`, as long as so many bytes of its disk stay free."""
        self._folder = folder
        self._most_bytes = most_bytes
        self._min_free_bytes = min_free_bytes

    def put(self, name: str, document: dict[str, Any] | NDArray[Any]) -> tuple[str, bytes, str | None]:
        """Return the type of an answer, and its bytes or the `name` of a file that has them; TooLarge, StorageFull."""
        media = NPY if isinstance(document, np.ndarray) else JSON
        pieces = npy_pieces(document) if isinstance(document, np.ndarray) else json_pieces(document)
        first, length = [], 0
        for piece in pieces:
            first.append(piece)
            length += len(piece)
            if length > INLINE_BYTES:
                self._write(self._folder / name, b"".join(first), pieces)
                return media, b"", name
        return media, b"".join(first), None

    def _write(self, path: Path, first: bytes, rest: Iterable[bytes]) -> None:
        written = unchecked = 0
        try:
            with storage_faults("the answer"), path.open("xb") as file:
                for piece in _joined(first, rest):
                    written += len(piece)
                    unchecked -= len(piece)
                    if unchecked < 0:
                        unchecked = self._left(written)
                    file.write(piece)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _left(self, written: int) -> int:
        """Return how many bytes may be written before this is asked again."""
        if written > self._most_bytes:
            raise answer_too_large(self._most_bytes)
        disk = os.statvfs(self._folder)
        left = disk.f_bavail * disk.f_frsize - self._min_free_bytes
        if left < CHUNK:
            raise StorageFull("the disk has no room for the answer; free some space, then try again")
        return min(CHUNK, self._most_bytes - written)


def npy_pieces(array: NDArray[Any]) -> Iterator[bytes]:
    """Encode an array as `.npy` piece by piece, as `app.ingest.encoding.npy` does."""
    array = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    array = np.ascontiguousarray(array).reshape(array.shape)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    yield header.getvalue()
    flat = array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)
    for start in range(0, flat.size, CHUNK):
        yield flat[start : start + CHUNK].tobytes()


def _joined(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
