"""Shapes, element types and small tensors as they stand in documents, read strictly; and the inputs fed to a graph."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from engine.core.dtypes import BOOL, DEFAULT_FLOAT, INT64, DType, dtype_of, is_float
from engine.core.errors import DocumentError, EngineError, Finding, escape, nearest
from engine.core.options import Reader, type_name
from engine.core.value import Array, Shape
from engine.graph.definition import Definition
from engine.graph.limits import LIMITS, reach

NONFINITE: Mapping[str, float] = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def is_extent(extent: Any) -> bool:
    """Return whether `extent` is a number that an axis can have."""
    return isinstance(extent, int) and not isinstance(extent, bool) and 0 <= extent < 2**40


def read_shape(extents: Any, pointer: str, reader: Reader) -> Shape:
    """Read a list of numbers as a shape."""
    shape = []
    for index, extent in enumerate(bounded_extents(extents, pointer, reader)):
        if is_extent(extent):
            shape.append(extent)
        else:
            detail = "an extent is a number >= 0 here: the shape must be known before data arrives"
            reader.fault(f"{pointer}/{index}", "shape_invalid", detail)
    return tuple(shape)


def bounded_extents(extents: Any, pointer: str, reader: Reader) -> Sequence[Any]:
    """Return a list that may be a shape, unread; with too many axes, which is noted as a fault, return none."""
    listed = reader.sequence(extents, pointer)
    if len(listed) > LIMITS.rank:
        reader.fault(pointer, "limit_exceeded", f"{len(listed)} axes are more than {LIMITS.rank}")
        return ()
    return listed


def read_dtype(spec: Mapping[str, Any], pointer: str, reader: Reader) -> DType:
    """Read the field "dtype" of `spec`, which stands at `pointer`; the default is float32."""
    try:
        return dtype_of(
            reader.typed(spec.get("dtype", DEFAULT_FLOAT.name), str, f"{pointer}/dtype", "dtype", "float32")
        )
    except EngineError as error:
        reader.error(f"{pointer}/dtype", error)
        return DEFAULT_FLOAT


def read_tensor(
    value: Any,
    pointer: str,
    reader: Reader,
    dtype: DType | None = None,
    *,
    nonfinite: bool = False,
    truncate: bool = False,
) -> Array:
    """Read a number, nested lists or {"dtype", "shape", "data"} as an array; faults go to the reader.

    With `nonfinite` an object may also have the field of this name, {position in data: "nan", "inf" or "-inf"} for
    every null in a flat list of data, as answers have it; a key "3-8" stands for all from 3 to 8.

    Args:
        value: what stands in the document.
        pointer: where it stands.
        reader: what collects the faults.
        dtype: the element type wanted; left out, it is the one stated, or float32 for fractions.
        nonfinite: see above.
        truncate: whether fractions become integers by leaving out what is behind the point, as C casts them.
    """
    stated, shape = dtype, None
    named: dict[int, float] = {}
    if isinstance(value, Mapping):
        known = ("dtype", "shape", "data", *(("nonfinite",) if nonfinite else ()))
        reader.fields(value, pointer, known, required=("data",))
        stated = read_dtype(value, pointer, reader) if "dtype" in value else dtype
        shape = read_shape(value["shape"], f"{pointer}/shape", reader) if "shape" in value else None
        named = _read_nonfinite(value, f"{pointer}/nonfinite", reader) if nonfinite else {}
        value = value.get("data", [])
        value = [0.0 if place in named else item for place, item in enumerate(value)] if named else value
    array = _to_array(value, stated or dtype, truncate=truncate)
    if array is None:
        detail = f"a tensor is a number or nested lists of one length each, not {_what(value)}"
        reader.fault(pointer, "tensor_invalid", detail)
        return np.zeros((), dtype or DEFAULT_FLOAT)
    for wanted in dict.fromkeys((stated or _natural(array), dtype or stated or _natural(array))):
        cut = truncate and array.dtype.kind == "f" and not is_float(wanted)
        array = _as_dtype(np.trunc(array) if cut else array, wanted, pointer, reader)
        if named and not is_float(wanted):
            reader.fault(f"{pointer}/nonfinite", "dtype_mismatch", f"{wanted.name} holds finite numbers only")
            named = {}
    if named:
        array[list(named)] = list(named.values())
    return array if shape is None else _as_shape(array, shape, pointer, reader)


def read_tensor_document(value: Any, pointer: str = "", dtype: DType | None = None, *, truncate: bool = False) -> Array:
    """Read one tensor of a request, as `read_tensor` does, with `nonfinite` as answers have it.

    `dtype` is that of the tensor which the numbers are for: a float64 leaf gets 0.1 and not the nearest float32, an
    int64 one every integer of 64 bits. A DocumentError holds every fault.
    """
    reader = Reader()
    array = read_tensor(value, pointer, reader, dtype, nonfinite=True, truncate=truncate)
    reader.finish()
    return array


def misfit(array: Array, dtype: DType) -> str | None:
    """Return why the numbers of `array` cannot be `dtype` without being changed beyond rounding, or None."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return "a number is not finite"
    if not array.size or array.dtype == dtype:
        return None
    if is_float(dtype):
        with np.errstate(all="ignore"):
            finite = np.isfinite(array.astype(dtype)).all()
        return None if finite else f"a number lies outside {dtype.name}"
    if not np.array_equal(array, np.trunc(array)):
        return f"fractions do not fit dtype {dtype.name}"
    low, high = (0, 1) if dtype == BOOL else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if not (low <= array.min().item() and array.max().item() <= high):
        return f"a number lies outside {dtype.name}"
    return None


def _read_nonfinite(tensor: Mapping[str, Any], pointer: str, reader: Reader) -> dict[int, float]:
    """Read which elements of a tensor's data are nulls that stand for numbers which are not finite.

    A key is a position, or the first and the last one of a run.
    """
    data, found = tensor.get("data"), dict[int, float]()
    flat = data if isinstance(data, list) else []
    left = len(flat)
    for place, name in reader.mapping(tensor.get("nonfinite", {}), pointer).items():
        run = _run(str(place), len(flat))
        left -= 0 if run is None else len(run)
        if not isinstance(name, str) or name not in NONFINITE:
            reader.fault(f"{pointer}/{escape(place)}", "attribute_invalid", f"must be one of {', '.join(NONFINITE)}")
        elif run is None or left < 0 or any(flat[position] is not None for position in run):
            reader.fault(f"{pointer}/{escape(place)}", "tensor_invalid", "names a null in data by its position in it")
        else:
            found.update(dict.fromkeys(run, NONFINITE[name]))
    return found


def _run(place: str, size: int) -> range | None:
    """Read "3" or "3-8" as positions below `count`; None if the text is neither or a position is out of range."""
    first, dash, last = place.partition("-")
    ends = (first, last if dash else first)
    if not all(digits.isascii() and digits.isdecimal() and len(digits) < 12 for digits in ends):
        return None
    start, stop = int(ends[0]), int(ends[1]) + 1
    return range(start, stop) if start < stop <= size else None


def _to_array(value: Any, dtype: DType | None, *, truncate: bool) -> Array | None:
    """Return nested lists of numbers as NumPy reads them, or None when they are no tensor.

    The types of the elements are looked at first: text among numbers would make NumPy stretch every element to its
    length. Where `dtype` holds integers, those that stand beside floats such as 2.0 keep all their digits.
    """
    kinds = _leaf_types(value)
    if kinds is None or not kinds <= {bool, int, float}:
        return None
    try:
        if dtype is not None and not is_float(dtype) and {int, float} <= kinds:
            return _exact_integers(value, truncate=truncate)
        array = np.array(value)
        return array if array.dtype.kind in "biuf" else np.array(value, dtype=object).astype(np.float64)
    except (ValueError, OverflowError):  # ragged lists, or an integer that no float holds
        return None


def _leaf_types(value: Any) -> set[type] | None:
    """Return the types of the elements of nested lists; None if lists stand beside elements."""
    level = [value]
    while True:
        kinds = set(map(type, level))
        if not kinds & {list, tuple}:
            return kinds
        if not kinds <= {list, tuple}:
            return None
        level = list(chain.from_iterable(level))


def _exact_integers(value: Any, *, truncate: bool) -> Array:
    """Return numbers of which some are floats as int64 where all are whole or may be cut, else as float64."""
    elements = np.array(value, dtype=object)
    if not truncate and not all(float(element).is_integer() for element in elements.flat):
        return elements.astype(np.float64)
    whole = np.array([int(element) for element in elements.flat])
    return (whole if whole.dtype.kind in "iu" else whole.astype(np.float64)).reshape(elements.shape)


def _natural(array: Array) -> DType:
    """Return the dtype of numbers that state none."""
    if array.dtype.kind == "f" or not array.size:
        return DEFAULT_FLOAT
    return BOOL if array.dtype == BOOL else INT64


def _as_dtype(array: Array, dtype: DType, pointer: str, reader: Reader) -> Array:
    reason = misfit(array, dtype)
    if reason is None:
        return array.astype(dtype)
    reader.fault(pointer, "tensor_invalid", reason)
    return np.zeros(array.shape, dtype)


def _as_shape(array: Array, shape: Shape, pointer: str, reader: Reader) -> Array:
    if math.prod(shape) != array.size:
        detail = f"shape {list(shape)} needs {math.prod(shape)} numbers, got {array.size}"
        reader.fault(pointer, "shape_mismatch", detail)
        return np.zeros((), array.dtype)
    if not array.size and reach(shape) > LIMITS.elements:
        reader.fault(f"{pointer}/shape", "limit_exceeded", f"shape {list(shape)} is larger than the limit")
        return np.zeros((), array.dtype)
    return array.reshape(shape)


def _what(value: Any) -> str:
    return "ragged or mixed lists, or too large a number" if isinstance(value, list | tuple) else type_name(value)


NUMBERS = "biuf"


def check_feeds(definition: Definition, needed: Collection[str], inputs: Mapping[str, Any]) -> dict[str, Array]:
    """Return an array for each input that is given, in the graph's order; their shapes are for `bind_dims` to check.

    Args:
        definition: the graph.
        needed: the inputs that must be given; others may be left out, and are checked where they are given.
        inputs: numbers by name.

    Raises:
        DocumentError: a missing or unknown name, or numbers that do not suit the input, each with its pointer.
    """
    findings = [
        Finding(
            f"/inputs/{escape(name)}",
            "unknown_name",
            f"the graph has no input of this name; it has {', '.join(definition.inputs) or 'none'}"
            f"{nearest(str(name), definition.inputs)}",
        )
        for name in inputs
        if name not in definition.inputs
    ]
    findings += [
        Finding("/inputs", "missing_field", f"the input {name!r} is required") for name in needed if name not in inputs
    ]
    arrays = {}
    for name in definition.inputs:
        if name not in inputs:
            continue
        array, dtype = as_numbers(inputs[name]), definition.inputs[name].dtype
        reason = "it must be a number, or an array or nested lists of numbers" if array is None else None
        if array is not None and not is_float(dtype):
            reason = misfit(array, dtype)
        if reason:
            findings.append(Finding(f"/inputs/{escape(name)}", "dtype_mismatch", f"input {name!r}: {reason}"))
        elif array is not None:
            arrays[name] = array
    if findings:
        raise DocumentError(findings)
    return arrays


def row_inputs(definition: Definition) -> tuple[str, ...]:
    """Return the inputs that hold one entry for each row: those that begin with the first named extent of all."""
    shapes = {name: spec.shape for name, spec in definition.inputs.items()}
    rows = next((shape[0] for shape in shapes.values() if shape and isinstance(shape[0], str)), None)
    return tuple(name for name, shape in shapes.items() if rows is not None and shape[:1] == (rows,))


def as_numbers(value: Any) -> Array | None:
    """Return numbers as an array; None if the value is not a tensor of numbers."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return array if array.dtype.kind in NUMBERS or is_float(array.dtype) else None
