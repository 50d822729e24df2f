"""Tables as bodies of requests: arrays by column, data frames and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from adjoint_client.frames import CSV, arrow_stream, csv_bytes, frame_arrays, has_images, has_text
from adjoint_client.generated.records import Dataset
from adjoint_client.safetensors import encode
from adjoint_client.uploads import CONTENT_TYPES, SAFETENSORS, content_type

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from adjoint_client.frames import Frame

Delimiter = Literal["auto", "comma", "semicolon", "tab", "bar", ",", ";", "\t", "|"]
"""What separates the cells of a CSV file: a name, or the character itself."""
ImageMode = Literal["L", "RGB", "RGBA"]
"""Channels of images: grey, colours, or colours and opacity."""
ImageDtype = Literal["uint8", "float32"]

BLOCK_BYTES = 1 << 20
DATASET_ID = "ds_"


@dataclass(frozen=True, slots=True)
class TableBody:
    """The body of a request that brings a table: `open` returns its bytes from the start for each attempt."""

    open: Callable[[], Any]
    size: int
    kind: str
    query: Mapping[str, str]


def table_body(
    source: Mapping[str, ArrayLike] | Frame | str | PathLike[str],
    columns: str | None,
    header: bool | None,
    blocks: Callable[[Path], Any],
    dialect: Mapping[str, str] | None = None,
) -> TableBody:
    """Return the body for arrays by column, a data frame, or the path of a file, which `blocks` reads.

    `dialect` are parameters of `csv_dialect`: how a CSV file is written.

    Raises:
        TypeError: a column of a data frame holds something else than numbers, texts, images, or equally long lists.
        ImportError: a data frame holds images, and pyarrow is not installed.
        ValueError: the name of a file has no ending of a format that the server takes.
    """
    options = {"columns": columns, "header": None if header is None else str(header).lower()}
    query = {**{key: value for key, value in options.items() if value is not None}, **(dialect or {})}
    if isinstance(source, Mapping):
        content = encode(source)
        return TableBody(lambda: content, len(content), SAFETENSORS, query)
    if isinstance(source, str | PathLike):
        path = Path(source)
        return TableBody(lambda: blocks(path), path.stat().st_size, content_type(path), query)
    if has_images(source):
        stream = arrow_stream(source)
        return TableBody(lambda: stream, len(stream), CONTENT_TYPES[".arrows"], query)
    arrays = frame_arrays(source)
    as_csv = columns is not None or has_text(arrays)
    table = csv_bytes(arrays) if as_csv else encode(arrays)
    return TableBody(
        lambda: table,
        len(table),
        CSV if as_csv else SAFETENSORS,
        {**query, "header": "true"} if as_csv else query,
    )


def csv_dialect(missing: Sequence[str] | str, delimiter: str, decimal: str, encoding: str) -> dict[str, str]:
    """Return how a CSV file is written as parameters of a query; what is the default is left out."""
    words = missing if isinstance(missing, str) else ",".join(missing)
    given = {"missing": (words, ""), "delimiter": (delimiter, "auto"), "decimal": (decimal, "point")}
    given |= {"encoding": (encoding, "utf-8")}
    return {name: value for name, (value, default) in given.items() if value != default}


def image_options(size: str | None, mode: ImageMode | None, dtype: ImageDtype | None) -> dict[str, str]:
    """Return how images are read as parameters of a query; what is None is left out."""
    given = {"image_size": size, "image_mode": mode, "image_dtype": dtype}
    return {name: value for name, value in given.items() if value is not None}


def stored_ids(source: Any) -> str | list[str] | None:
    """Return the ids that name stored datasets; None for anything else."""
    if isinstance(source, str) and source.startswith(DATASET_ID):
        return source
    if isinstance(source, Dataset):
        return source.id
    if isinstance(source, list | tuple):
        return [each if isinstance(each, str) else each.id for each in source]
    return None


def query_of(options: Mapping[str, Any], feeds: Mapping[str, str] | None) -> dict[str, str]:
    """Return options as parameters of a query."""
    given = {name: value for name, value in options.items() if value is not None}
    query = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}
    return {**query, "feeds": ",".join(f"{name}:{column}" for name, column in feeds.items())} if feeds else query
