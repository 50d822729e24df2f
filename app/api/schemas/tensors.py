"""Tensors on the wire."""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, WithJsonSchema

from app.api.schemas.shapes import ResourceShape, nonfinite_name

TensorDocument = Annotated[
    Any,
    WithJsonSchema(
        {
            "description": "A number, nested lists of numbers, or an object with dtype, shape and data (row-major); "
            "where a graph is computed, nonfinite may name the nulls in a flat list of data, as in answers.",
        }
    ),
]
"""A tensor that a client sends; the engine reads it."""


class Tensor(ResourceShape):
    """An array: its elements in row-major order, null for one that is not finite."""

    dtype: str
    shape: list[int]
    data: list[float | bool | None]
    nonfinite: dict[str, str] = Field(description="Position in data: nan, inf or -inf, for every null in data.")


def tensor_document(array: NDArray[Any]) -> dict[str, Any]:
    """Return the fields of a `Tensor`, its data still an array, which is spelled when the answer is.

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
