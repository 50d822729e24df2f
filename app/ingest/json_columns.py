"""JSON: `{"name": ..., "columns": {name: tensor}}`, the whole of it in memory."""

import difflib
from io import BufferedReader
from typing import Any

from app.domain.documents import escape
from app.ingest.columns import ColumnSet, pointer_to
from app.ingest.errors import IngestError, too_large
from app.ingest.options import IngestOptions
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
