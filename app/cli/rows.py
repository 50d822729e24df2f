"""Rows to predict: read from a file, and given the shapes and dtypes of a graph's inputs."""

import csv
import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from adjoint_client.safetensors import decode
from app.cli.connection import STANDARD_INPUT

Array = NDArray[Any]
Arrays = dict[str, Array]
Inputs = Mapping[str, tuple[tuple[int, ...], str]]
"""Inputs of a graph that have fixed extents: the shape of a row, and the dtype."""

DEFAULT_DTYPE = "float32"


def read_rows(data: str, columns: str | None = None) -> Array | Arrays:
    """Return what a file holds: one array, or arrays by name."""
    path = Path(data)
    kind = ".json" if data == STANDARD_INPUT else path.suffix.lower()
    if columns is not None and kind != ".csv":
        raise typer.BadParameter("--columns is for csv files")
    readers: Mapping[str, Callable[[], Array | Arrays]] = {
        ".csv": lambda: _read_csv(path, columns),
        ".json": lambda: _from_json(json.load(sys.stdin) if data == STANDARD_INPUT else json.loads(path.read_bytes())),
        ".npy": lambda: np.load(path, allow_pickle=False),
        ".npz": lambda: dict(np.load(path, allow_pickle=False)),
        ".safetensors": lambda: decode(path.read_bytes()).arrays,
    }
    if kind not in readers:
        raise typer.BadParameter(f"{data} is none of {', '.join(suffix[1:] for suffix in readers)}, by its name")
    try:
        return readers[kind]()
    except OSError as error:
        raise typer.BadParameter(f"cannot read {data} ({error.strerror or error})") from error
    except (ValueError, EOFError) as error:
        raise typer.BadParameter(f"cannot read rows from {data}: {error}") from error


def _from_json(document: Any) -> Array | Arrays:
    if isinstance(document, dict):
        return {name: np.asarray(values) for name, values in document.items()}
    return np.asarray(document)


def _read_csv(path: Path, columns: str | None) -> Array:
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.reader(file) if line]
    if not lines:
        raise ValueError("it has no rows")
    header = lines.pop(0) if columns is not None or not all(map(_is_number, lines[0])) else None
    chosen = range(len(lines[0]) if lines else 0) if columns is None else _positions(header or [], columns)
    return np.array([[float(line[position]) for position in chosen] for line in lines])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _positions(header: list[str], columns: str) -> list[int]:
    """Return the positions of `a,b` and of `a..c` in a header."""
    found: list[int] = []
    for part in columns.split(","):
        first, has_end, last = part.strip().partition("..")
        missing = [name for name in (first, last) if name not in header and (name or has_end)]
        if missing:
            raise ValueError(f"its header has no column {missing[0]!r}; it has {', '.join(header)}")
        begin = header.index(first)
        found += range(begin, (header.index(last) if has_end else begin) + 1)
    return found


def shape_rows(declared: Inputs, rows: Array | Arrays) -> Arrays:
    """Return arrays by input, each with the shape and the dtype of its input."""
    if isinstance(rows, dict):
        named = rows
    else:
        width = math.prod(rows.shape[1:])
        fitting = [name for name, (shape, _) in declared.items() if math.prod(shape) == width]
        if len(fitting) != 1:
            shapes = ", ".join(f"{name} {list(shape)}" for name, (shape, _) in declared.items())
            which = f"fit {' and '.join(fitting)}" if fitting else "fit no input"
            raise typer.BadParameter(
                f"rows of {width} numbers {which} of the graph ({shapes}); give inputs by name, as an object in JSON"
            )
        named = {fitting[0]: rows}
    return {name: _shaped(array, *declared[name]) if name in declared else array for name, array in named.items()}


def _shaped(array: Array, shape: tuple[int, ...], dtype: str) -> Array:
    fits = array.ndim > 0 and math.prod(array.shape[1:]) == math.prod(shape)
    # A dtype that NumPy lacks, such as bfloat16, is converted by the server.
    known = dtype in np.sctypeDict
    return (array.reshape(-1, *shape) if fits else array).astype(dtype if known else DEFAULT_DTYPE)
