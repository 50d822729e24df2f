"""Checkpoints as safetensors: named arrays and a JSON header, no executable content."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from engine.core.errors import CheckpointError
from engine.core.value import Array

DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
}  # fmt: skip
CODES = {name: code for code, name in DTYPES.items()}
HEADER_LIMIT = 100 * 2**20
RANK_LIMIT = 64
FORMAT = "adjoint-checkpoint/1"
BUFFER, OPTIMIZER, STATE = "buffer:", "optimizer:", "state:"
AVERAGE, SCALES = "average/", "scales/"
"""Prefixes of names in the state: averages of parameters and buffers, and scales of inputs."""


class Writable(Protocol):
    """An object with a `write` method for bytes."""

    def write(self, data: bytes, /) -> object:
        """Write all of `data`."""
        ...


@dataclass
class Checkpoint:
    """Named arrays of a model at one step, and the state that resuming needs.

    `state` is that of the fit beside model and optimizer: averages of the weights, the best weights so far, and so on.
    `cursor` holds step, epoch, position and metric sequence; `meta` anything else (graph digest, fingerprint, ...).
    """

    parameters: dict[str, Array]
    buffers: dict[str, Array] = field(default_factory=dict)
    optimizer: dict[str, Array] = field(default_factory=dict)
    state: dict[str, Array] = field(default_factory=dict)
    cursor: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)

    def averaged(self) -> Checkpoint:
        """Return the checkpoint with averages in place of the arrays that they average, if it has any."""
        averages = self.under(AVERAGE)
        parameters = {name: averages.get(name, array) for name, array in self.parameters.items()}
        return replace(
            self, parameters=parameters, buffers={n: averages.get(BUFFER + n, a) for n, a in self.buffers.items()}
        )

    def copied(self) -> Checkpoint:
        """Return the checkpoint with copies of what predictions need: no array of it is mapped from a file."""
        averages = self.averaged()
        scales = {n: np.array(a) for n, a in self.state.items() if n.startswith(SCALES)}
        return Checkpoint(
            {name: np.array(array) for name, array in averages.parameters.items()},
            {name: np.array(array) for name, array in averages.buffers.items()},
            state=scales,
            cursor=self.cursor,
            meta=self.meta,
        )

    def under(self, prefix: str) -> dict[str, Array]:
        """Return the arrays of the state whose names start with a prefix, by the rest of the name."""
        return {name.removeprefix(prefix): a for name, a in self.state.items() if name.startswith(prefix)}

    def save(self, path: Path) -> None:
        """Write to `path` and sync it to the disk; the caller renames it into place."""
        with path.open("wb") as file:
            self.write(file)
            file.flush()
            os.fsync(file.fileno())

    def write(self, file: Writable) -> None:
        """Write to an open file, which the caller syncs; each tensor in one call."""
        tensors = dict(self.parameters)
        tensors.update({BUFFER + name: array for name, array in self.buffers.items()})
        tensors.update({OPTIMIZER + name: array for name, array in self.optimizer.items()})
        tensors.update({STATE + name: array for name, array in self.state.items()})
        header = {"format": FORMAT, "cursor": self.cursor, "meta": self.meta}
        write_tensors(file, tensors, {"adjoint": json.dumps(header, sort_keys=True)})

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read a checkpoint; arrays are memory-mapped and read when they are used.

        Raises:
            CheckpointError: the file is damaged, or is not a safetensors file.
        """
        tensors, metadata = read_tensors(path)
        header = _read_object(metadata.get("adjoint", "{}"), "the checkpoint's metadata")
        cursor, meta = header.get("cursor", {}), header.get("meta", {})
        if not isinstance(cursor, dict) or not isinstance(meta, dict):
            raise CheckpointError("the checkpoint's cursor or meta is not a JSON object")
        checkpoint = cls({}, cursor=cursor, meta=meta)
        for name, array in tensors.items():
            if name.startswith(BUFFER):
                checkpoint.buffers[name.removeprefix(BUFFER)] = array
            elif name.startswith(OPTIMIZER):
                checkpoint.optimizer[name.removeprefix(OPTIMIZER)] = array
            elif name.startswith(STATE):
                checkpoint.state[name.removeprefix(STATE)] = array
            else:
                checkpoint.parameters[name] = array
        return checkpoint


def state_digest(checkpoint: Checkpoint) -> dict[str, str]:
    """Return the SHA-256, in hexadecimal digits, of "parameters", "buffers" and "optimizer" state each.

    It covers the arrays in the order of their names: a line of JSON with name, dtype and shape, then the elements,
    row-major and little-endian. Equal digests mean equal bits; nothing else in the checkpoint is covered.
    """
    tables = {"parameters": checkpoint.parameters, "buffers": checkpoint.buffers, "optimizer": checkpoint.optimizer}
    return {what: _digest(arrays) for what, arrays in tables.items()}


def _digest(arrays: Mapping[str, Array]) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        line = json.dumps([name, array.dtype.name, list(array.shape)], separators=(",", ":"))
        digest.update(line.encode() + b"\n")
        digest.update(_little_endian(array))
    return digest.hexdigest()


def _little_endian(array: Array) -> bytes:
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def write_tensors(file: Writable, tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    """Write arrays as safetensors, in the given order, row-major and little-endian."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name, array in tensors.items():
        start, end = end, end + array.nbytes
        header[name] = {"dtype": CODES[array.dtype.name], "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for array in tensors.values():
        file.write(_little_endian(array))


def read_tensors(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """Read a safetensors file strictly; arrays are read-only maps of the file.

    Raises:
        CheckpointError: for any deviation from the format.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, HEADER_LIMIT):
            raise CheckpointError(f"header length {length} does not fit a file of {size} bytes")
        text = file.read(length)
    header = _read_object(text, "the header")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise CheckpointError("__metadata__ must be an object of strings")
    data = np.memmap(path, np.uint8, "r", offset=8 + length) if size > 8 + length else np.empty(0, np.uint8)
    tensors = {name: _tensor(name, entry, data) for name, entry in header.items()}
    covered = sorted(entry["data_offsets"] for entry in header.values())
    ends = [0] + [end for _, end in covered]
    if any(start != before for (start, _), before in zip(covered, ends, strict=False)) or ends[-1] != data.size:
        raise CheckpointError("the tensors overlap, leave gaps, or do not fill the file")
    return tensors, metadata


def _read_object(text: str | bytes, what: str) -> dict[str, Any]:
    try:
        document = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{what} is not JSON") from error
    if not isinstance(document, dict):
        raise CheckpointError(f"{what} is not a JSON object")
    try:
        # Errors and listings show its names: refuse those that cannot be encoded.
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise CheckpointError(f"{what} holds half of a surrogate pair") from error
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise CheckpointError("the header names something twice")
    return dict(pairs)


def _tensor(name: str, entry: Any, data: Array) -> Array:
    try:
        dtype, shape = np.dtype(DTYPES[entry["dtype"]]), tuple(entry["shape"])
        start, end = entry["data_offsets"]
        good = all(type(n) is int and n >= 0 for n in (*shape, start, end))
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"the entry of tensor {name[:64]!r} is malformed") from error
    if not good or end - start != dtype.itemsize * math.prod(shape) or end > data.size:
        raise CheckpointError(f"the byte range of tensor {name[:64]!r} does not fit its shape or the file")
    if len(shape) > RANK_LIMIT or math.prod(extent or 1 for extent in shape) >= 2**48:
        raise CheckpointError(f"the shape of tensor {name[:64]!r} is larger than an array can be")
    return np.frombuffer(data[start:end].tobytes() if start % dtype.itemsize else data[start:end], dtype).reshape(shape)
