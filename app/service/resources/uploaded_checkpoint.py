"""Checkpoints that clients bring: read strictly, and compared with the graph that they are to be of."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from app.domain.errors import Finding
from app.service.resources.engine_faults import engine_faults, invalid

FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
COUNT_MAX = 2**63
HEADER_BYTES_MAX = 2 * 1024**2
NAME_MAX = 64

Array = NDArray[Any]


def read_uploaded(path: Path, definition: engine.Definition) -> engine.Checkpoint:
    """Return the checkpoint in a file.

    Invalid if that is no safetensors file, or does not have the parameters and buffers of the graph with their shapes;
    the pointers name tensors. A file of plain tensors, such as PyTorch's, need not tell buffers from parameters.
    """
    _check_header(path)
    with engine_faults():
        loaded = engine.Checkpoint.load(path)
    findings = [*_misfits(loaded, definition), *_bad_counts(loaded.cursor)]
    # Averages take the place of parameters where predictions are made.
    findings = findings or [*_misfits(loaded.averaged(), definition)]
    if findings:
        raise invalid(findings)
    return loaded


def _check_header(path: Path) -> None:
    """Invalid if the header is larger than any graph needs: what it becomes in memory may be 30 times as large."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
    if HEADER_BYTES_MAX < length < path.stat().st_size:
        detail = f"the header has {length} bytes; at most {HEADER_BYTES_MAX} are read"
        raise invalid([Finding("", "header_too_large", detail)])


def _misfits(loaded: engine.Checkpoint, definition: engine.Definition) -> Iterator[Finding]:
    """Yield what the tensors of a checkpoint and the state of a graph do not have in common."""
    buffers = {**loaded.parameters, **loaded.buffers}
    for specs, arrays, what in (
        (definition.parameters, loaded.parameters, "parameter"),
        (definition.buffers, buffers, "buffer"),
    ):
        for name, spec in specs.items():
            yield from _misfit(what, name, spec, arrays.get(name))
    known = {*definition.parameters, *definition.buffers}
    for name in {**loaded.parameters, **loaded.buffers}:
        if name not in known:
            yield Finding(_pointer(name), "unknown_name", "the graph has neither a parameter nor a buffer of this name")


def _misfit(what: str, name: str, spec: Any, array: Array | None) -> Iterator[Finding]:
    if array is None:
        yield Finding("", "missing_field", f"the {what} {name!r} is missing")
    elif array.shape != spec.shape:
        shapes = f"{list(array.shape)}, the graph's {what} {list(spec.shape)}"
        yield Finding(_pointer(name), "shape_mismatch", f"the tensor has shape {shapes}")
    elif not _converts(array.dtype, spec.dtype):
        dtypes = f"{array.dtype.name}, the graph's {what} {spec.dtype.name}"
        yield Finding(_pointer(name), "dtype_mismatch", f"the tensor has dtype {dtypes}")


def _converts(dtype: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    if wanted.name in FLOATS:
        return dtype.name in FLOATS
    return dtype.name not in FLOATS and np.can_cast(dtype, wanted, "same_kind")


def _bad_counts(cursor: Mapping[str, Any]) -> Iterator[Finding]:
    for name in ("step", "epoch"):
        count = cursor.get(name, 0)
        if type(count) is not int or not 0 <= count < COUNT_MAX:
            yield Finding("/__metadata__/adjoint", "out_of_range", f"the cursor's {name} is no count of {name}s")


def _pointer(name: str) -> str:
    """Point at a tensor; at the file where its name is not one that anybody can read."""
    plain = name.isascii() and name.isprintable() and len(name) <= NAME_MAX
    return "/" + name.replace("~", "~0").replace("/", "~1") if plain else ""
