"""Arrays in the body of a request, read strictly where they are: in memory, which they already take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from io import BufferedReader, BytesIO
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.domain.documents import NPY, NPZ, SAFETENSORS
from app.domain.errors import UnsupportedMedia
from app.ingest.limits import IngestError, IngestLimits, check_array_name, domain_error, too_large
from app.ingest.npy_header import NpyHeader, read_header
from app.ingest.npz import read_arrays_directory
from app.ingest.safetensors import Layout, StoredTensor, parse_layout, read_layout, widened
from app.ingest.sources import Region, Source
from app.ingest.zip_directory import member_source

Array = NDArray[Any]

_LARGEST_RANK = 32
_USUAL_HEADER = 4096


@dataclass(frozen=True, slots=True)
class ReadArrays:
    """The arrays of a body by name, "" for one without; and the texts beside them."""

    arrays: dict[str, Array]
    metadata: Mapping[str, str] = field(default_factory=dict)


def read_arrays(body: bytes, media: str, limits: IngestLimits) -> ReadArrays:
    """Read a body of one of `MEDIA`; arrays may be windows on it that cannot be written to, bfloat16 becomes float32.

    Invalid or TooLarge with the place in the body, UnsupportedMedia for another type.
    """
    reader = MEDIA.get(media)
    if reader is None:
        raise UnsupportedMedia(f"arrays are read from {', '.join(MEDIA)}; set Content-Type to one of them")
    try:
        return reader(body, limits)
    except IngestError as error:
        pointer = error.pointer.removeprefix("/columns")
        raise domain_error(IngestError(error.code, pointer, error.detail, error.limit)) from error


def _read_npy(body: bytes, limits: IngestLimits) -> ReadArrays:
    source = Region(_opened(body), 0, len(body))
    header = _header(source, limits)
    flat = np.frombuffer(body, header.dtype, offset=len(body) - source.remaining)
    return ReadArrays({"": _shaped(flat, header)})


def _read_npz(body: bytes, limits: IngestLimits) -> ReadArrays:
    file, arrays = _opened(body), {}
    for number, (name, member) in enumerate(read_arrays_directory(file, len(body), limits)):
        with member_source(file, member, number) as source:
            header = _header(source, limits)
            flat = np.empty(source.remaining // header.dtype.itemsize, header.dtype)
            source.read_into(flat.view(np.uint8).data)
        arrays[name] = _shaped(flat, header)
    return ReadArrays(arrays)


def _read_safetensors(body: bytes, limits: IngestLimits) -> ReadArrays:
    length = int.from_bytes(body[:8], "little")
    if 8 + length <= len(body) and length <= _USUAL_HEADER:
        layout = _known_layout(body[8 : 8 + length], len(body) - 8 - length, limits)
    else:
        layout = read_layout(Region(_opened(body), 0, len(body)), limits, check_array_name)
    return ReadArrays({tensor.name: _tensor(body, tensor, layout.offset) for tensor in layout.tensors}, layout.metadata)


@lru_cache(maxsize=64)
def _known_layout(header: bytes, size_bytes: int, limits: IngestLimits) -> Layout:
    """Read a header that may come again and again, as those of the batches of a loop do."""
    return parse_layout(header, size_bytes, limits, check_array_name)


MEDIA: Mapping[str, Callable[[bytes, IngestLimits], ReadArrays]] = MappingProxyType(
    {NPY: _read_npy, NPZ: _read_npz, SAFETENSORS: _read_safetensors}
)


def _opened(body: bytes) -> BufferedReader:
    return BufferedReader(BytesIO(body))


def _header(source: Source, limits: IngestLimits) -> NpyHeader:
    """Read the header of an array that must fill `source`."""
    header = read_header(source, limits.max_npy_header_bytes)
    _check_rank(header.shape)
    needed = prod(header.shape) * header.dtype.itemsize
    if needed != source.remaining:
        code = "truncated" if source.remaining < needed else "trailing_bytes"
        detail = f"the array needs {needed} bytes, and {source.remaining} follow its header"
        raise IngestError(code, "", detail)
    return header


def _shaped(flat: Array, header: NpyHeader) -> Array:
    array = _checked(flat).reshape(header.shape, order="F" if header.fortran_order else "C")
    return array.astype(header.dtype.newbyteorder("="), copy=False)


def _tensor(body: bytes, tensor: StoredTensor, offset: int) -> Array:
    _check_rank(tensor.shape)
    flat = np.frombuffer(body, tensor.stored, prod(tensor.shape), offset + tensor.begin)
    return (widened(flat) if tensor.wide else _checked(flat)).reshape(tensor.shape)


def _checked(flat: Array) -> Array:
    if flat.dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:
        raise IngestError("bad_value", "", "a boolean byte is neither 0 nor 1; save it as uint8")
    return flat


def _check_rank(shape: tuple[int, ...]) -> None:
    if len(shape) > _LARGEST_RANK:
        raise too_large("bad_shape", "", "axes", _LARGEST_RANK)
    if prod(extent or 1 for extent in shape) >= 2**48:
        raise IngestError("bad_shape", "", "the shape is larger than an array can be")
