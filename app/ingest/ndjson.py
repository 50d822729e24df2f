"""NDJSON: one JSON object a row, all with the same keys."""

from collections.abc import Iterator
from io import BufferedReader
from typing import Any

from app.ingest.columns import ColumnSet, pointer_to
from app.ingest.errors import IngestError
from app.ingest.options import IngestOptions
from app.ingest.strict_json import parse_json
from app.ingest.tensors import flatten, leaf_block
from app.ingest.text_lines import byte_lines, line_pointer
from app.ingest.values import ColumnPlan, ValueColumn

_BLOCK_BYTES = 4 << 20
_BLOCK_ROWS = 8192

_Row = tuple[int, dict[str, Any]]


def read_ndjson(file: BufferedReader, _size_bytes: int, columns: ColumnSet, _options: IngestOptions) -> None:
    """Read all rows; the first one tells the columns and their shapes."""
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
    """One column on its way from JSON values to `ValueColumn`."""

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
