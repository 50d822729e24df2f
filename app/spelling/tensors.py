"""Tensors as documents: dtype, shape, data, and what JSON has no number for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.domain.finite import nonfinite_name


def tensor_document(array: NDArray[Any]) -> dict[str, Any]:
    """Return the fields of a tensor, its data still an array, which is spelled when the answer is.

    The kind of bfloat16, the only floating type that is not NumPy's own, is "V".
    """
    flat = np.ascontiguousarray(array).reshape(-1)
    nonfinite = np.flatnonzero(~np.isfinite(flat)) if flat.dtype.kind in "fV" else ()
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "data": flat,
        "nonfinite": {str(position): nonfinite_name(float(flat[position])) for position in nonfinite},
    }
