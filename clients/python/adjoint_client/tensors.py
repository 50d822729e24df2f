"""NumPy arrays as the tensor objects of the wire, `{"dtype", "shape", "data"}`, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


BFLOAT16 = "bfloat16"


def to_wire(value: ArrayLike, *, nonfinite: bool = False) -> dict[str, Any]:
    """Return the tensor object of an array, or of anything that NumPy makes one of.

    With `nonfinite`, NaN and infinities are nulls that a field of this name distinguishes, as in answers.

    Raises:
        TypeError: it holds something else than numbers or truth values.
        ValueError: it holds NaN or infinities, which JSON has no way to write, without `nonfinite`.
    """
    import numpy as np

    array = np.asarray(value)
    if array.dtype.kind not in "biuf" and array.dtype.name != BFLOAT16:
        raise TypeError(f"an array of dtype {array.dtype} cannot be sent; use numbers or truth values")
    if array.dtype.kind not in "biu" and not np.isfinite(array).all():
        if nonfinite:
            return _with_nulls(array)
        raise ValueError("an array with NaN or infinities cannot be sent as JSON; upload it as a dataset instead")
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": array.ravel().tolist()}


def _with_nulls(array: NDArray[Any]) -> dict[str, Any]:
    import numpy as np

    flat = array.ravel().tolist()
    names = {place: str(flat[place]) for place in np.flatnonzero(~np.isfinite(array.ravel())).tolist()}
    data = [None if place in names else number for place, number in enumerate(flat)]
    nonfinite = {str(place): name for place, name in names.items()}
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data, "nonfinite": nonfinite}


def all_to_wire(arrays: Mapping[str, ArrayLike]) -> dict[str, Any]:
    """Return the tensor object of each array."""
    return {name: to_wire(array) for name, array in arrays.items()}


def from_wire(document: Mapping[str, Any]) -> NDArray[Any]:
    """Return the array that a tensor object describes; what JSON could not hold is put back.

    bfloat16, which NumPy lacks, becomes float32.
    """
    import numpy as np

    dtype = "float32" if document["dtype"] == BFLOAT16 else document["dtype"]
    flat = np.array(document["data"], dtype=np.dtype(dtype))
    for places, value in document.get("nonfinite", {}).items():
        first, _, last = places.partition("-")  # many of one kind in a row are named by the ends of the run
        flat[int(first) : int(last or first) + 1] = float(value)
    return flat.reshape(document["shape"])


def all_from_wire(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
    """Return the array of each tensor object."""
    return {name: from_wire(document) for name, document in documents.items()}
