"""Tensors in JSON: nested lists, or `{"dtype", "shape", "data"}`."""

from collections.abc import Sequence
from itertools import chain
from math import nan, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.domain.documents import escape
from app.ingest.classes import Locate
from app.ingest.limits import IngestError
from app.ingest.values import CONSECUTIVE, NUMERIC_DTYPES, Block, precision_lost

_FIELDS = frozenset({"dtype", "shape", "data"})


def flatten(value: Any, max_rank: int, pointer: str) -> tuple[tuple[int, ...], list[Any]]:
    """Shape of the nested lists `value`, and its leaves in row-major order; a leaf alone has the shape ()."""
    shape: list[int] = []
    level = [value]
    while any(type(item) is list for item in level):
        if len(shape) == max_rank:
            raise IngestError("bad_shape", pointer, f"lists are nested deeper than the largest rank, {max_rank}")
        sizes = {len(item) if type(item) is list else None for item in level}
        if len(sizes) != 1:
            detail = f"lists at depth {len(shape)} differ in length, or stand beside numbers; a tensor is rectangular"
            raise IngestError("ragged", pointer, detail)
        shape.append(len(level[0]))
        level = list(chain.from_iterable(level))
    return tuple(shape), level


def leaf_block(leaves: Sequence[Any], dtype: str | None, pointer: str, locate: Locate) -> Block:
    """The values of `leaves`, which are of one kind: numbers (null is missing), truth values, or texts."""
    kinds = set(map(type, leaves))
    if kinds == {str}:
        return list(leaves)
    if kinds == {str, type(None)} and dtype is None:
        return [leaf or "" for leaf in leaves]
    if kinds == {bool}:
        return np.array(leaves, np.bool_)
    if not kinds <= {int, float, type(None)}:
        raise _wrong_leaf(leaves, kinds, pointer, locate)
    try:
        if kinds == {int}:
            return np.array(leaves, np.uint64 if dtype == "uint64" else np.int64)
        if type(None) in kinds:
            leaves = [nan if leaf is None else leaf for leaf in leaves]
        numbers = np.array(leaves, np.float64)
    except OverflowError:
        raise _too_big("a whole number does not fit 64 bits", pointer) from None
    if dtype is None:
        _check_whole(leaves, numbers, pointer, locate)
    if np.isinf(numbers).any():
        raise _too_big(f"{locate(int(np.isinf(numbers).argmax()))}: a number does not fit float64", pointer)
    return numbers


def _check_whole(leaves: Sequence[Any], numbers: NDArray[np.float64], pointer: str, locate: Locate) -> None:
    """Refuse whole numbers that become others among fractions and missing values."""
    for k in np.flatnonzero(np.abs(numbers) >= CONSECUTIVE).tolist():
        if type(leaves[k]) is int and leaves[k] != numbers[k].item():
            raise precision_lost(pointer, locate(k))


def _too_big(detail: str, pointer: str) -> IngestError:
    return IngestError("number_out_of_range", pointer, detail)


def _wrong_leaf(leaves: Sequence[Any], kinds: set[type], pointer: str, locate: Locate) -> IngestError:
    if dict in kinds:
        return IngestError("bad_tensor", pointer, "an object where a number is expected")
    if kinds & {bool, str} and len(kinds) > 1:
        odd = next(k for k, leaf in enumerate(leaves) if type(leaf) is not type(leaves[0]))
        detail = f"{locate(odd)}: true, false, text and numbers are different kinds of value; a column holds one kind"
        return IngestError("mixed_types", pointer, detail)
    return IngestError("bad_tensor", pointer, "a tensor is a list of numbers, truth values or texts")


def tensor_object(value: dict[str, Any], max_rank: int, pointer: str) -> tuple[str, tuple[int, ...], list[Any]]:
    """Dtype, shape and leaves of `{"dtype": ..., "shape": [...], "data": [...]}`; the data may be flat or nested."""
    if value.keys() != _FIELDS:
        odd = next((field for field in value if field not in _FIELDS), None)
        place = pointer if odd is None else f"{pointer}/{escape(odd)}"
        raise IngestError("bad_tensor", place, "a tensor object has exactly the fields dtype, shape and data")
    dtype, sizes = value["dtype"], value["shape"]
    if dtype not in NUMERIC_DTYPES:
        raise IngestError("bad_dtype", f"{pointer}/dtype", f"the dtype must be one of {', '.join(NUMERIC_DTYPES)}")
    if type(sizes) is not list or not all(type(size) is int and size >= 0 for size in sizes):
        raise IngestError("bad_shape", f"{pointer}/shape", "the shape must be a list of whole numbers")
    shape = tuple(sizes)
    given, leaves = flatten(value["data"], max_rank, f"{pointer}/data")
    if given not in (shape, (prod(shape),)):
        detail = f"the data has the shape {list(given)} and {sizes} is declared; make them equal, or send flat data"
        raise IngestError("bad_shape", f"{pointer}/data", detail)
    return dtype, shape, leaves
