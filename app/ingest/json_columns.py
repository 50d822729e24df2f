"""Datasets in JSON, and in JSON lines."""

import difflib
from collections.abc import Iterator
from io import BufferedReader
from typing import Any

from app.domain.documents import escape
from app.ingest.columns import ColumnSet, pointer_to
from app.ingest.limits import IngestError, IngestOptions, too_large
from app.ingest.sources import byte_lines, line_pointer
from app.ingest.strict_json import parse_json
from app.ingest.tensors import flatten, leaf_block, tensor_object
from app.ingest.values import ColumnPlan, ValueColumn

_FIELDS = ("name", "columns")
_MAX_NAME = 200


def read_json(file: BufferedReader, size_bytes: int, columns: ColumnSet, _options: IngestOptions) -> None:
    """Read one JSON document; its name, if it has one, becomes `columns.dataset_name`."""
    limits = columns.limits
    if size_bytes > limits.max_json_bytes:
        raise too_large("json_too_large", "", "bytes of JSON (send .npz or .safetensors)", limits.max_json_bytes)
    document = parse_json(file.read(), limits.max_depth)
    if type(document) is not dict or type(document.get("columns")) is not dict:
        raise IngestError("missing_field", "/columns", 'the document must be {"columns": {NAME: tensor, ...}}')
    _check_fields(document)
    columns.dataset_name = _dataset_name(document.get("name"))
    columns.check_count(len(document["columns"]))
    for number, (name, value) in enumerate(document["columns"].items()):
        columns.check_name(name, f"column {number + 1}")
        _read_column(name, value, columns)


def _check_fields(document: dict[str, Any]) -> None:
    for field in document:
        if field not in _FIELDS:
            near = difflib.get_close_matches(field, _FIELDS, 1)
            advice = f"did you mean {near[0]!r}?" if near else f"known are {' and '.join(_FIELDS)}"
            raise IngestError("unknown_field", f"/{escape(field)}", f"unknown field; {advice}")


def _dataset_name(name: Any) -> str | None:
    if name is None or (type(name) is str and 0 < len(name) <= _MAX_NAME and name.isprintable()):
        return name
    detail = f"the name must be 1 to {_MAX_NAME} printable characters"
    raise IngestError("bad_name", "/name", detail)


def _read_column(name: str, value: Any, columns: ColumnSet) -> None:
    pointer = pointer_to(name)
    max_rank = columns.limits.max_rank
    dtype: str | None = None
    if type(value) is dict:
        dtype, shape, leaves = tensor_object(value, max_rank, pointer)
    else:
        shape, leaves = flatten(value, max_rank, pointer)
    if not shape or not leaves:
        raise IngestError("no_rows", pointer, f"column {name!r} has no rows; send a list with one item a row")

    def locate(index: int) -> str:
        return f"value {index + 1}"

    column = ValueColumn(ColumnPlan(name, dtype, shape[1:]), columns)
    column.add(leaf_block(leaves, dtype, pointer, locate), locate)
    column.finish()


_BLOCK_BYTES = 4 << 20
_BLOCK_ROWS = 8192

_Row = tuple[int, dict[str, Any]]


def read_ndjson(file: BufferedReader, _size_bytes: int, columns: ColumnSet, _options: IngestOptions) -> None:
    """Read all rows; the first one decides the columns and their shapes."""
    readers: dict[str, _Reader] = {}
    for block in _blocks(_rows(file, columns)):
        if not readers:
            columns.check_count(len(block[0][1]))
            readers = {name: _Reader(name, k, columns) for k, name in enumerate(block[0][1])}
        for name, reader in readers.items():
            reader.add([(line, row[name]) for line, row in block])
    if not readers:
        raise IngestError("empty", "", "the file holds no rows; write one JSON object a line")
    for reader in readers.values():
        reader.column.finish()


class _Reader:
    """One column while it is converted from JSON values to a `ValueColumn`."""

    def __init__(self, name: str, number: int, columns: ColumnSet) -> None:
        where = f"column {number + 1}"
        columns.check_name(name, where)
        self._pointer = pointer_to(name)
        self._columns = columns
        self._where = where
        self._name = name
        self._column: ValueColumn | None = None

    @property
    def column(self) -> ValueColumn:
        assert self._column is not None, "the first block has been added"
        return self._column

    def add(self, values: list[tuple[int, Any]]) -> None:
        """Append one value a row, each given with its line number."""
        first, last = values[0][0], values[-1][0]
        try:
            shape, leaves = flatten([value for _, value in values], self._columns.limits.max_rank, self._pointer)
        except IngestError as error:
            raise IngestError(error.code, error.pointer, f"lines {first} to {last}: {error.detail}") from None
        if self._column is None:
            self._column = ValueColumn(ColumnPlan(self._name, None, shape[1:]), self._columns, self._where)
        if shape[1:] != self._column.plan.shape:
            detail = f"from line {first} on, values have another shape than those before; all rows need the same one"
            raise IngestError("ragged", self._pointer, detail)
        per_row = max(1, len(leaves) // len(values))

        def locate(index: int) -> str:
            return f"line {values[index // per_row][0]}"

        self._column.add(leaf_block(leaves, None, self._pointer, locate), locate)


def _rows(file: BufferedReader, columns: ColumnSet) -> Iterator[tuple[_Row, int]]:
    """Line number and object of every row, with the bytes it took."""
    keys: Any = None
    blank = 0
    for number, line in enumerate(byte_lines(file, columns.limits), 1):
        if not line.strip():
            blank = blank or number
            continue
        if blank:
            raise IngestError("bad_json", line_pointer(blank), f"line {blank} is blank; remove it")
        row = parse_json(line, columns.limits.max_depth, line_pointer(number))
        if type(row) is not dict:
            raise IngestError("bad_json", line_pointer(number), f"line {number} is not an object {{...}}")
        keys = row.keys() if keys is None else keys
        if row.keys() != keys:
            raise IngestError("ragged", line_pointer(number), f"line {number} has other keys than the first one")
        yield (number, row), len(line)


def _blocks(rows: Iterator[tuple[_Row, int]]) -> Iterator[list[_Row]]:
    block: list[_Row] = []
    size = 0
    for row, size_bytes in rows:
        block.append(row)
        size += size_bytes
        if size >= _BLOCK_BYTES or len(block) == _BLOCK_ROWS:
            yield block
            block, size = [], 0
    if block:
        yield block
