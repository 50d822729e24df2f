"""One array as the bytes of a `.npy` file. Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html."""

from __future__ import annotations

import io
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


NPY = "application/x-npy"
_HEADER_BYTES_MAX = 16_384


def npy_bytes(value: ArrayLike) -> bytes:
    """Return the file of an array, or of anything that NumPy makes one of; a TypeError unless it holds numbers."""
    import numpy as np

    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"an array of dtype {array.dtype} cannot be sent; use numbers or truth values")
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def read_npy(content: bytes | bytearray | memoryview) -> NDArray[Any]:
    """Return the array in a file; a window into `content`, without a copy, if that can be written to."""
    import numpy as np

    if isinstance(content, bytes):
        array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        return array
    header = io.BytesIO(content[:_HEADER_BYTES_MAX])
    version = np.lib.format.read_magic(header)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, columns_first, dtype = read(header)
    if dtype.hasobject:
        raise ValueError("the file holds Python objects, which are not read")
    flat = np.frombuffer(content, dtype, count=prod(shape), offset=header.tell())
    return flat.reshape(shape, order="F" if columns_first else "C")
