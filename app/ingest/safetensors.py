"""safetensors: a JSON header and the bytes of all tensors, which must cover the rest of the file without gap.

Format: https://github.com/huggingface/safetensors (README, "Format"). Stricter than the reference reader, which takes
duplicate keys. bfloat16, which NumPy lacks, becomes float32.
"""

import struct
from dataclasses import dataclass
from io import BufferedReader
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.columns import ColumnSet, pointer_to
from app.ingest.errors import IngestError, too_large
from app.ingest.npy import stream
from app.ingest.options import IngestOptions
from app.ingest.sources import Region
from app.ingest.strict_json import parse_json

_LENGTH = struct.Struct("<Q")
_METADATA = "__metadata__"
_FIELDS = frozenset({"dtype", "shape", "data_offsets"})
_BFLOAT16 = "BF16"
_DTYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8", _BFLOAT16: "<u2",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def read_safetensors(file: BufferedReader, size_bytes: int, columns: ColumnSet, _options: IngestOptions) -> None:
    """Read every tensor as the column of its name."""
    source = Region(file, 0, size_bytes)
    (length,) = _LENGTH.unpack(source.read(_LENGTH.size))
    if columns.limits.max_header_bytes < length <= source.remaining:
        raise too_large("header_too_large", "", "bytes of safetensors header", columns.limits.max_header_bytes)
    raw = source.read(length)
    if not raw.startswith(b"{"):
        raise _bad_header("", "it does not start with {")
    tensors = _tensors(parse_json(raw, columns.limits.max_depth), columns)
    _check_cover(tensors, source.remaining)
    for tensor in tensors:
        _read_tensor(file, tensor, _LENGTH.size + length, columns)


def _tensors(header: Any, columns: ColumnSet) -> list[_Tensor]:
    assert type(header) is dict, "it starts with {"
    metadata = header.pop(_METADATA, {})
    if type(metadata) is not dict or not all(type(text) is str for text in metadata.values()):
        raise _bad_header(f"/{_METADATA}", "the metadata is not an object of texts")
    columns.check_count(len(header))
    if not header:
        raise IngestError("no_columns", "", "the file holds no tensors; a data set needs at least one")
    tensors = [_tensor(name, entry, columns, k) for k, (name, entry) in enumerate(header.items(), 1)]
    return sorted(tensors, key=lambda tensor: (tensor.begin, tensor.end))


def _tensor(name: str, entry: Any, columns: ColumnSet, number: int) -> _Tensor:
    columns.check_name(name, f"tensor {number}")
    pointer = pointer_to(name)
    if type(entry) is not dict or entry.keys() != _FIELDS:
        raise _bad_header(pointer, "a tensor has exactly the fields dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if type(dtype) is not str or dtype not in _DTYPES:
        raise IngestError("bad_dtype", pointer, f"the dtype of {name!r} is not taken; use one of {', '.join(_DTYPES)}")
    if not _is_sizes(shape):
        raise IngestError("bad_shape", pointer, f"the shape of {name!r} is not a list of sizes")
    if not _is_sizes(offsets) or len(offsets) != 2:
        raise IngestError("bad_offsets", pointer, f"the offsets of {name!r} are not two positions")
    return _Tensor(name, dtype, tuple(shape), *offsets)


def _is_sizes(value: Any) -> bool:
    return type(value) is list and all(type(size) is int and 0 <= size < 1 << 63 for size in value)


def _check_cover(tensors: list[_Tensor], size_bytes: int) -> None:
    position = 0
    for tensor in tensors:
        needed = prod(tensor.shape) * np.dtype(_DTYPES[tensor.dtype]).itemsize
        if tensor.begin != position or tensor.end - tensor.begin != needed:
            detail = f"tensor {tensor.name!r} does not start where the one before ends, or its shape needs other bytes"
            raise IngestError("bad_offsets", pointer_to(tensor.name), detail)
        position = tensor.end
    if position != size_bytes:
        code = "truncated" if position > size_bytes else "trailing_bytes"
        raise IngestError(code, "", f"the tensors need {position} bytes and {size_bytes} follow the header")


def _read_tensor(file: BufferedReader, tensor: _Tensor, data_offset: int, columns: ColumnSet) -> None:
    stored = np.dtype(_DTYPES[tensor.dtype])
    wide = tensor.dtype == _BFLOAT16
    dtype = np.dtype(np.float32) if wide else stored
    columns.check_shape(tensor.name, dtype, tensor.shape)
    writer = columns.open(tensor.name, dtype, tensor.shape[1:])
    for block in stream(Region(file, data_offset + tensor.begin, tensor.end - tensor.begin), stored):
        writer.append(_widened(block) if wide else block)


def _widened(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """bfloat16 as float32: the same bits, then sixteen zeros."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _bad_header(pointer: str, why: str) -> IngestError:
    return IngestError("bad_header", pointer, f"the safetensors header cannot be read: {why}")
