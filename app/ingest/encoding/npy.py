"""Arrays as `.npy` bodies."""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray


def npy_body(array: NDArray[Any]) -> bytes:
    """Encode an array as `.npy`; bfloat16, for which the format has no name, as float32."""
    array = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
    return buffer.getvalue()
