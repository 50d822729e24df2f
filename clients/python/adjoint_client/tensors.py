"""NumPy arrays as the tensor objects of the wire, `{"dtype", "shape", "data"}`, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def to_wire(value: ArrayLike) -> dict[str, Any]:
    """The tensor object of an array or of anything that NumPy makes one of.

    Non-finite numbers are refused: JSON has none.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"an array of dtype {array.dtype} cannot be sent; use numbers or truth values")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("an array with NaN or infinity cannot be sent as JSON; upload it as a dataset instead")
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": array.ravel().tolist()}


def all_to_wire(arrays: Mapping[str, ArrayLike]) -> dict[str, Any]:
    """The tensor object of each array."""
    return {name: to_wire(array) for name, array in arrays.items()}


def from_wire(document: Mapping[str, Any]) -> NDArray[Any]:
    """The array that a tensor object describes."""
    data = np.asarray(document["data"], dtype=np.dtype(document["dtype"]))
    return data.reshape(document["shape"])


def all_from_wire(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
    """The array of each tensor object."""
    return {name: from_wire(document) for name, document in documents.items()}
