"""safetensors: a JSON header and the bytes of all tensors, which must cover the rest of the file without gap.

Format: https://github.com/huggingface/safetensors (README, "Format"). Stricter than the reference reader, which takes
duplicate keys. bfloat16, which NumPy lacks, becomes float32.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.columns import ColumnSet, pointer_to
from app.ingest.limits import IngestError, IngestLimits, IngestOptions, too_large
from app.ingest.npy import stream
from app.ingest.sources import Region
from app.ingest.strict_json import parse_json

_LENGTH = struct.Struct("<Q")
_METADATA = "__metadata__"
_FIELDS = frozenset({"dtype", "shape", "data_offsets"})
_BFLOAT16 = "BF16"
_CODES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8", _BFLOAT16: "<u2",
}  # fmt: skip
_DTYPES = {name: np.dtype(code) for name, code in _CODES.items()}


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of a file: the name of its dtype in the format, its shape, and where its bytes lie behind the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def stored(self) -> np.dtype[Any]:
        """The dtype to read its bytes as: bfloat16, which is to be widened, as whole numbers."""
        return _DTYPES[self.dtype]

    @property
    def wide(self) -> bool:
        """Whether what was read is bfloat16."""
        return self.dtype == _BFLOAT16


@dataclass(frozen=True, slots=True)
class Layout:
    """The header of a file: its tensors in the order in which they lie, its texts, and where the first byte is."""

    tensors: list[StoredTensor]
    metadata: dict[str, str]
    offset: int


def read_safetensors(file: BufferedReader, size_bytes: int, columns: ColumnSet, _options: IngestOptions) -> None:
    """Read every tensor as the column of its name."""
    layout = read_layout(Region(file, 0, size_bytes), columns.limits, columns.check_name)
    if not layout.tensors:
        raise IngestError("no_columns", "", "the file holds no tensors; a data set needs at least one")
    columns.check_count(len(layout.tensors))
    for tensor in layout.tensors:
        _read_tensor(file, tensor, layout.offset, columns)


def read_layout(source: Region, limits: IngestLimits, check_name: Callable[[str, str], None]) -> Layout:
    """Read the header at the start of `source`, which the tensors must fill; `check_name` refuses names of tensors."""
    (length,) = _LENGTH.unpack(source.read(_LENGTH.size))
    if limits.max_header_bytes < length <= source.remaining:
        raise too_large("header_too_large", "", "bytes of safetensors header", limits.max_header_bytes)
    return parse_layout(source.read(length), source.remaining, limits, check_name)


def parse_layout(raw: bytes, size_bytes: int, limits: IngestLimits, check_name: Callable[[str, str], None]) -> Layout:
    """Read a header behind its length; the tensors must fill the `size_bytes` that follow it."""
    if not raw.startswith(b"{"):
        raise _bad_header("", "it does not start with {")
    header = parse_json(raw, limits.max_depth)
    assert type(header) is dict, "it starts with {"
    metadata = header.pop(_METADATA, {})
    if type(metadata) is not dict or not all(type(text) is str for text in metadata.values()):
        raise _bad_header(f"/{_METADATA}", "the metadata is not an object of texts")
    if len(header) > limits.max_columns:
        raise too_large("too_many_columns", "/columns", "tensors", limits.max_columns)
    tensors = [_tensor(name, entry, check_name, k) for k, (name, entry) in enumerate(header.items(), 1)]
    tensors.sort(key=lambda tensor: (tensor.begin, tensor.end))
    _check_cover(tensors, size_bytes)
    return Layout(tensors, metadata, _LENGTH.size + len(raw))


def _tensor(name: str, entry: Any, check_name: Callable[[str, str], None], number: int) -> StoredTensor:
    check_name(name, f"tensor {number}")
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
    return StoredTensor(name, dtype, tuple(shape), *offsets)


def _is_sizes(value: Any) -> bool:
    return type(value) is list and all(type(size) is int and 0 <= size < 1 << 63 for size in value)


def _check_cover(tensors: list[StoredTensor], size_bytes: int) -> None:
    position = 0
    for tensor in tensors:
        needed = prod(tensor.shape) * tensor.stored.itemsize
        if tensor.begin != position or tensor.end - tensor.begin != needed:
            detail = f"tensor {tensor.name!r} does not start where the one before ends, or its shape needs other bytes"
            raise IngestError("bad_offsets", pointer_to(tensor.name), detail)
        position = tensor.end
    if position != size_bytes:
        code = "truncated" if position > size_bytes else "trailing_bytes"
        raise IngestError(code, "", f"the tensors need {position} bytes and {size_bytes} follow the header")


def _read_tensor(file: BufferedReader, tensor: StoredTensor, data_offset: int, columns: ColumnSet) -> None:
    dtype = np.dtype(np.float32) if tensor.wide else tensor.stored
    columns.check_shape(tensor.name, dtype, tensor.shape)
    begin = data_offset + tensor.begin
    if tensor.wide:
        writer = columns.open(tensor.name, dtype, tensor.shape[1:])
    else:
        writer = columns.open_range(tensor.name, dtype, tensor.shape, begin)
    for block in stream(Region(file, begin, tensor.end - tensor.begin), tensor.stored):
        writer.append(widened(block) if tensor.wide else block)


def widened(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """bfloat16 as float32: the same bits, then sixteen zeros."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _bad_header(pointer: str, why: str) -> IngestError:
    return IngestError("bad_header", pointer, f"the safetensors header cannot be read: {why}")
