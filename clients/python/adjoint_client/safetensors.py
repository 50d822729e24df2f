"""safetensors: a JSON header and the bytes of all tensors. Format: https://github.com/huggingface/safetensors."""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjoint_client.errors import DownloadDamaged

_LENGTH = struct.Struct("<Q")
_METADATA = "__metadata__"
_DTYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
_BFLOAT16 = "BF16"
_NAMES = {np.dtype(text): name for name, text in _DTYPES.items()}


@dataclass(frozen=True, slots=True)
class Tensors:
    """The content of a safetensors file: arrays by name, and the texts in its metadata."""

    arrays: dict[str, NDArray[Any]]
    metadata: dict[str, str] = field(default_factory=dict)


def encode(arrays: Mapping[str, ArrayLike]) -> bytes:
    """Bytes of a file with the given arrays.

    Raises:
        TypeError: an array holds something else than numbers or truth values.
    """
    header: dict[str, Any] = {}
    blocks: list[bytes] = []
    position = 0
    for name, value in arrays.items():
        array = np.asarray(value)
        dtype = array.dtype.newbyteorder("<") if array.dtype.kind in "iuf" else array.dtype
        if dtype not in _NAMES:
            raise TypeError(
                f"array {name!r} has dtype {array.dtype}; use numbers or truth values ({', '.join(_NAMES.values())})"
            )
        block = array.astype(dtype, order="C").tobytes()
        header[name] = {
            "dtype": _NAMES[dtype],
            "shape": list(array.shape),
            "data_offsets": [position, position + len(block)],
        }
        blocks.append(block)
        position += len(block)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # keeps the data aligned for readers that map the file
    return b"".join([_LENGTH.pack(len(text)), text, *blocks])


def decode(content: bytes) -> Tensors:
    """Read a whole file; the arrays are writable copies. bfloat16, which NumPy lacks, becomes float32.

    Raises:
        DownloadDamaged: the bytes are not a safetensors file of NumPy's types.
    """
    try:
        (length,) = _LENGTH.unpack_from(content)
        begin = _LENGTH.size + length
        if begin > len(content):
            raise ValueError("the header is cut off")
        header = json.loads(content[_LENGTH.size : begin])
        metadata = header.pop(_METADATA, {})
        data = memoryview(content)[begin:]
        return Tensors({name: _array(data, **entry) for name, entry in header.items()}, metadata)
    except (struct.error, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DownloadDamaged(f"the bytes are not a safetensors file ({error})") from error


def _array(data: memoryview, dtype: str, shape: list[int], data_offsets: list[int]) -> NDArray[Any]:
    begin, end = data_offsets
    stored = np.dtype("<u2" if dtype == _BFLOAT16 else _DTYPES[dtype])
    if not 0 <= begin <= end <= len(data) or end - begin != prod(shape) * stored.itemsize:
        raise ValueError(f"offsets {data_offsets} do not fit the shape {shape}")
    array = np.frombuffer(data[begin:end], stored).reshape(shape)
    if dtype == _BFLOAT16:  # the upper half of a float32
        return (array.astype("<u4") << 16).view("<f4")
    return array.copy()
