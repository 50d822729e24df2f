"""One array as the bytes of a `.npy` file. Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html."""

import io
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

NPY = "application/x-npy"


def npy_bytes(value: ArrayLike) -> bytes:
    """Return the file of an array, or of anything that NumPy makes one of; a TypeError unless it holds numbers."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"an array of dtype {array.dtype} cannot be sent; use numbers or truth values")
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def read_npy(content: bytes) -> NDArray[Any]:
    """Return the array in a file."""
    array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return array
