"""Data frames, of pandas, polars or Arrow, as datasets, and metric rows as data frames. None of these is required."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from datetime import date
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from adjoint_client.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

CSV = "text/csv"


class Frame(Protocol):
    """A data frame: columns by name, each of which becomes an array."""

    def __getitem__(self, name: Any, /) -> Any:
        """Return a column."""
        ...


def is_frame(source: object) -> bool:
    """Whether this is a data frame of pandas, polars or Arrow, or looks like one."""
    if isinstance(source, Mapping | Record):
        return False
    return hasattr(source, "columns") or hasattr(source, "column_names")


def frame_arrays(frame: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of a data frame as arrays by name; a column of lists becomes an array with more axes.

    Raises:
        TypeError: it is none, or a column holds neither numbers, truth values, texts, nor equally long lists.
    """
    if not is_frame(frame):
        raise TypeError(
            f"a {type(frame).__name__} cannot be uploaded; give arrays by column, a data frame, or the path of a file"
        )
    names = frame.column_names if hasattr(frame, "column_names") else list(frame.columns)
    return {str(name): _column(str(name), frame[name]) for name in names}


def has_images(frame: Any) -> bool:
    """Whether a data frame has a column of bytes, or of structures of bytes."""
    if not is_frame(frame):
        return False
    names = frame.column_names if hasattr(frame, "column_names") else list(frame.columns)
    return any(_holds_bytes(frame[name]) for name in names)


def _holds_bytes(column: Any) -> bool:
    kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    if kind != "object":
        return kind.startswith(("binary", "large_binary", "struct<", "struct({"))
    first = next((value for value in column if not _is_missing(value)), None)
    return isinstance(first, bytes) or (isinstance(first, Mapping) and isinstance(first.get("bytes"), bytes))


def arrow_stream(frame: Any) -> bytes:
    """Return a data frame as an Arrow IPC stream.

    Raises:
        ImportError: pyarrow is not installed.
    """
    arrow = optional_module("pyarrow", "uploading a data frame with images")
    if hasattr(frame, "__arrow_c_stream__"):
        table = arrow.table(frame)
    else:
        table = arrow.table({str(name): arrow.array(frame[name]) for name in frame.columns})
    sink = io.BytesIO()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def has_text(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether a column holds text, for which CSV is needed."""
    return any(array.dtype.kind in "OUT" for array in arrays.values())


def csv_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return columns as a CSV file with a header; a missing value is an empty field.

    Raises:
        ValueError: a column has more than one axis, beside one of texts.
    """
    for name, array in arrays.items():
        if array.ndim > 1:
            raise ValueError(
                f"column {name!r} holds lists, beside columns of texts; upload the texts as numbers, "
                "or each element as a column of its own"
            )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(arrays)
    writer.writerows(zip(*(_cells(array) for array in arrays.values()), strict=True))
    return text.getvalue().encode()


def optional_module(name: str, purpose: str) -> Any:
    """Import a package that the client does not depend on.

    Raises:
        ImportError: it is not installed; the message says what to install.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f"{purpose} needs {package}; install it with: pip install {package}") from error


def _column(name: str, column: Any) -> NDArray[Any]:
    import numpy as np

    array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind in "UT":
        return array.astype(object)
    if array.dtype.kind == "M":
        # Moments as text of ISO 8601, to the microsecond; NaT is missing.
        texts: NDArray[Any] = np.datetime_as_string(array, unit=_unit(array)).astype(object)
        texts[np.isnat(array)] = None
        return texts
    if array.dtype.kind != "O":
        raise TypeError(f"column {name!r} has type {array.dtype}; convert it to numbers or texts")
    return _objects(name, array, np)


def _unit(moments: NDArray[Any]) -> Any:
    """Return the unit in which moments are written: days, or what they have, at most microseconds."""
    import numpy as np

    if ((moments == moments.astype("datetime64[D]")) | np.isnat(moments)).all():
        return "D"
    return "s" if ((moments == moments.astype("datetime64[s]")) | np.isnat(moments)).all() else "us"


def _objects(name: str, array: NDArray[Any], numpy: Any) -> NDArray[Any]:
    """Return a column of Python objects: texts as they are, lists of one length as an array with more axes."""
    if array.ndim == 1 and any(isinstance(value, date) for value in array):
        array = array.copy()
        for place, value in enumerate(array):
            if isinstance(value, date) and not _is_missing(value):
                array[place] = value.isoformat()
    present = [value for value in array.tolist() if not _is_missing(value)]
    if all(isinstance(value, str) for value in present):
        return array
    if len(present) == len(array):
        try:
            stacked: NDArray[Any] = numpy.array(present)
        except ValueError:
            stacked = array
    else:
        stacked = numpy.array([numpy.nan if _is_missing(value) else value for value in array.tolist()], dtype=object)
        if all(isinstance(value, int | float) for value in present):
            stacked = stacked.astype(numpy.float64)
    if stacked.dtype.kind not in "biuf":
        kinds = sorted({type(value).__name__ for value in present})
        raise TypeError(
            f"column {name!r} holds {', '.join(kinds)}; a column is of numbers, texts, or equally long lists"
        )
    return stacked


def _is_missing(value: Any) -> bool:
    """Whether this is None, NaN, or the missing value of pandas, none of which equals itself."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _cells(array: NDArray[Any]) -> list[Any]:
    return ["" if _is_missing(value) else value for value in array.tolist()]
