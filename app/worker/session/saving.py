"""Checkpoints that a session hands over to the server."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import engine
from app.worker.session.bench import Call, Result, Writable


def handed_over(call: Call, checkpoint: Callable[[], engine.Checkpoint], told: dict[str, Any]) -> Result:
    """Write a checkpoint for the server to take over, and answer with what is `told`, its digest and its size."""
    summed = _Hashed()

    def write(file: Writable) -> None:
        summed.file = file
        checkpoint().write(summed)

    name = call.hand_over(write)
    return Result({**told, "digest": summed.digest, "size_bytes": summed.size}, name)


def with_classes(checkpoint: engine.Checkpoint, classes: Mapping[str, engine.ClassEncoding]) -> engine.Checkpoint:
    """Return a checkpoint whose meta holds the class names of the model by input."""
    return replace(checkpoint, meta=engine.meta_with_classes(checkpoint.meta, classes))


class _Hashed:
    """Hands bytes on to a file, and takes their digest on the way."""

    file: Writable

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def write(self, data: bytes) -> object:
        self._hash.update(data)
        self.size += len(data)
        return self.file.write(data)
