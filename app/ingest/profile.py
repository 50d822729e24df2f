"""What the rows of a dataset look like: distributions, quantiles, classes, duplicates, correlations with a target.

Up to `ROWS_MAX` rows are read, evenly spread over the dataset, and up to `ELEMENTS_MAX` elements of a column of
tensors: work and memory are bounded for datasets of any size.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.stored_arrays import map_array
from app.system.confinement import room_to_map

ROWS_MAX = 1_000_000
ELEMENTS_MAX = 4_000_000
COLUMNS_MAX = 1_000
BINS = 24
TOP = 24
CLASSES_MAX = 100
"""The maximum number of distinct values with which an integer target is treated as classes."""
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)

Floats = NDArray[np.float64]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProfiledColumn:
    """A stored column: the file of its values, and the names of the codes of text."""

    name: str
    path: str
    shape: tuple[int, ...]
    classes: tuple[str, ...] | None = None


def profile_columns(columns: Sequence[ProfiledColumn], target: str | None) -> Json:
    """Return the profile of columns of equal length; `target` names the one that is to be predicted, or None.

    The result is JSON: `rows`, `rows_read`, `columns` (a list of objects, in order), `duplicates` (rows that repeat
    another one; None where not all values of a row are read) and `target`.
    """
    rows = _length(columns[0])
    index = None if rows <= ROWS_MAX else np.arange(ROWS_MAX, dtype=np.int64) * rows // ROWS_MAX
    read = rows if index is None else ROWS_MAX
    chosen = next((column for column in columns if column.name == target), None)
    goal = None if chosen is None else _Target(_read(chosen, index), chosen.classes)
    hashes = np.full(read, 0x9E3779B97F4A7C15, np.uint64)
    described, complete = [], len(columns) <= COLUMNS_MAX
    for column in columns[:COLUMNS_MAX]:
        values = _read(column, index)
        complete = complete and math.prod(column.shape) == math.prod(values.shape[1:])
        if complete:
            _mix(hashes, values)
        described.append(_describe(column, values, None if column.name == target else goal))
    return {
        "rows": rows,
        "rows_read": read,
        "columns": described,
        "duplicates": read - len(np.unique(hashes)) if complete else None,
        "target": None if goal is None or chosen is None else {"column": chosen.name, **goal.balance()},
    }


def _length(column: ProfiledColumn) -> int:
    with room_to_map(Path(column.path).stat().st_size):
        return int(map_array(column.path).shape[0])


def _read(column: ProfiledColumn, index: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return the rows of a column that are looked at; of tensors, the first elements of each."""
    with room_to_map(Path(column.path).stat().st_size):
        array = map_array(column.path)
        flat = array.reshape(len(array), -1) if array.ndim > 1 else array
        if flat.ndim > 1:
            taken = len(flat) if index is None else len(index)
            flat = flat[:, : max(1, ELEMENTS_MAX // taken)]
        values = np.array(flat if index is None else flat[index])
        del array, flat
    return values


def _mix(hashes: NDArray[np.uint64], values: NDArray[Any]) -> None:
    """Mix the values of each row into its hash (the finalizer of SplitMix64, Steele et al. 2014)."""
    table = values if values.ndim > 1 else values[:, None]
    for place in range(table.shape[1]):
        column = table[:, place]
        # Negative zero and zero are equal, and so are all NaN.
        number = np.where(np.isnan(column), np.nan, column + 0.0).astype(np.float64) if column.dtype.kind == "f" else 0
        bits = number.view(np.uint64) if isinstance(number, np.ndarray) else column.astype(np.int64).view(np.uint64)
        with np.errstate(over="ignore"):
            hashes ^= bits
            hashes *= np.uint64(0xBF58476D1CE4E5B9)
            hashes ^= hashes >> np.uint64(29)
            hashes *= np.uint64(0x94D049BB133111EB)
            hashes ^= hashes >> np.uint64(32)


def _describe(column: ProfiledColumn, values: NDArray[Any], goal: "_Target | None") -> Json:
    flat = values.reshape(-1)
    if column.classes is not None:
        return _describe_texts(column, flat, goal)
    present = flat[np.isfinite(flat)] if flat.dtype.kind == "f" else flat
    distinct, counts = np.unique(present, return_counts=True)
    whole = flat.dtype.kind in "iub"
    numbers = present.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = (float(numbers.mean()), float(numbers.std())) if len(numbers) else (math.nan, math.nan)
    described: Json = {
        "name": column.name,
        "kind": "tensor" if column.shape else "boolean" if flat.dtype.kind == "b" else "number",
        "missing": int(np.count_nonzero(np.isnan(flat))) if flat.dtype.kind == "f" else 0,
        "distinct": len(distinct),
        "constant": len(distinct) <= 1,
        "unique": not column.shape and len(distinct) == len(flat),
        "whole": whole,
        "mean": _finite(mean),
        "deviation": _finite(deviation),
        "quantiles": _quantiles(distinct, counts),
        "histogram": _histogram(numbers, distinct, whole=whole),
        "top": [],
        "correlation": None,
    }
    if goal is not None and not column.shape:
        described["correlation"] = goal.correlate_numbers(values)
    return described


def _describe_texts(column: ProfiledColumn, codes: NDArray[Any], goal: "_Target | None") -> Json:
    assert column.classes is not None
    counts = np.bincount(codes[codes >= 0], minlength=len(column.classes))
    largest = np.argsort(-counts, kind="stable")[:TOP]
    distinct = int(np.count_nonzero(counts))
    described: Json = {
        "name": column.name,
        "kind": "tensor" if column.shape else "text",
        "missing": int(np.count_nonzero(codes < 0)),
        "distinct": distinct,
        "constant": distinct <= 1,
        "unique": not column.shape and distinct == len(codes),
        "whole": False,
        "mean": None,
        "deviation": None,
        "quantiles": None,
        "histogram": None,
        "top": [{"value": column.classes[code], "count": int(counts[code])} for code in largest if counts[code]],
        "correlation": None,
    }
    if goal is not None and not column.shape:
        described["correlation"] = goal.correlate_codes(codes)
    return described


def _quantiles(distinct: NDArray[Any], counts: NDArray[np.int64]) -> list[Json] | None:
    """Return values that occur, below which the given shares of all lie (the inverse of the distribution function)."""
    if not len(distinct):
        return None
    ends = np.cumsum(counts)
    places = np.searchsorted(ends, np.ceil(np.array(QUANTILES) * ends[-1]).clip(1), side="left")
    return [{"share": share, "value": _number(value)} for share, value in zip(QUANTILES, distinct[places], strict=True)]


def _histogram(numbers: Floats, distinct: NDArray[Any], *, whole: bool) -> Json | None:
    """Return edges and counts; whole numbers with few different values have a bin each."""
    if not len(numbers):
        return None
    low, high = float(distinct[0]), float(distinct[-1])
    if whole and high - low < BINS:
        edges = np.arange(low, high + 2) - 0.5
    elif low == high:
        edges = np.array([low, low])
    else:
        # Halves, so that the span of the largest numbers does not overflow.
        edges = np.linspace(low / 2, high / 2, BINS + 1) * 2
    if len(edges) == 2:
        return {"edges": edges.tolist(), "counts": [len(numbers)]}
    places = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    return {"edges": edges.tolist(), "counts": np.bincount(places, minlength=len(edges) - 1).tolist()}


class _Target:
    """The column that is to be predicted: classes (texts, truth values, few whole numbers), or numbers."""

    def __init__(self, values: NDArray[Any], names: Sequence[str] | None) -> None:
        flat = values if values.ndim == 1 else np.full(len(values), np.nan)
        self.missing = int(np.count_nonzero(flat < 0 if names is not None else np.isnan(flat)))
        self._known = flat >= 0 if names is not None else np.isfinite(flat)
        distinct = np.unique(flat[self._known])
        self.is_class = names is not None or (flat.dtype.kind in "iub" and len(distinct) <= CLASSES_MAX)
        self._numbers: Floats = flat.astype(np.float64)
        self._codes = np.searchsorted(distinct, flat) if len(distinct) else np.zeros(len(flat), np.int64)
        self._labels = [str(names[int(value)]) if names is not None else str(value) for value in distinct[:10_000]]

    def balance(self) -> Json:
        """Return the classes with their counts, the largest first, or none for numbers."""
        if not self.is_class:
            return {"kind": "number", "missing": self.missing, "classes": []}
        counts = np.bincount(self._codes[self._known], minlength=len(self._labels))[: len(self._labels)]
        order = np.argsort(-counts, kind="stable")
        classes = [{"value": self._labels[code], "count": int(counts[code])} for code in order[:CLASSES_MAX]]
        return {"kind": "class", "missing": self.missing, "classes": classes}

    def correlate_numbers(self, values: NDArray[Any]) -> Json | None:
        """Return how a column of numbers goes with the target: Pearson's r, or the correlation ratio of classes."""
        numbers = values.astype(np.float64)
        both = self._known & np.isfinite(numbers)
        if self.is_class:
            return _ratio(self._codes[both], numbers[both])
        return _pearson(numbers[both], self._numbers[both])

    def correlate_codes(self, codes: NDArray[Any]) -> Json | None:
        """Return how a column of texts goes with the target: Cramer's V of classes, or the correlation ratio."""
        both = self._known & (codes >= 0)
        if self.is_class:
            return _cramer(codes[both], self._codes[both])
        return _ratio(codes[both], self._numbers[both])


def _pearson(one: Floats, other: Floats) -> Json | None:
    one, other = _standard(one), _standard(other)
    if not len(one):
        return None
    return _correlation("pearson", float(np.mean(one * other)))


def _standard(numbers: Floats) -> Floats:
    """Return numbers with mean 0 and deviation 1; none of them if they are all equal."""
    scale = np.abs(numbers).max(initial=0.0)
    if not len(numbers) or not 0 < scale < math.inf:
        return np.empty(0)
    scaled = numbers / scale
    centred = scaled - scaled.mean()
    deviation = centred.std()
    return centred / deviation if deviation > 0 else np.empty(0)


def _ratio(codes: NDArray[Any], numbers: Floats) -> Json | None:
    """The correlation ratio eta (Pearson 1905): the root of the share of the variance that lies between classes."""
    standard = _standard(numbers)
    if not len(standard):
        return None
    counts = np.bincount(codes)
    means = np.bincount(codes, standard) / np.maximum(counts, 1)
    return _correlation("correlation_ratio", math.sqrt(min(1.0, float(counts @ means**2) / len(standard))))


def _cramer(one: NDArray[Any], other: NDArray[Any]) -> Json | None:
    """Cramer's V (1946) of two columns of classes."""
    _, one = np.unique(one, return_inverse=True)
    _, other = np.unique(other, return_inverse=True)
    if not len(one):
        return None
    sizes, others = np.bincount(one), np.bincount(other)
    least = min(len(sizes), len(others)) - 1
    if least < 1:
        return None
    # Only the pairs that occur: the table of all could be large.
    pairs, counts = np.unique(one.astype(np.int64) * len(others) + other, return_counts=True)
    expected = sizes[pairs // len(others)].astype(np.float64) * others[pairs % len(others)]
    square = float(np.sum(counts.astype(np.float64) ** 2 / expected)) - 1.0
    return _correlation("cramers_v", math.sqrt(min(1.0, max(0.0, square / least))))


def _correlation(measure: str, value: float) -> Json:
    return {"measure": measure, "value": max(-1.0, min(1.0, value))}


def _number(value: Any) -> float | int | bool:
    found: float | int | bool = value.item()
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def columns_of(listed: Sequence[Mapping[str, Any]]) -> list[ProfiledColumn]:
    """Read columns out of a request."""
    return [
        ProfiledColumn(
            each["name"],
            each["path"],
            tuple(each["shape"]),
            None if each["classes"] is None else tuple(each["classes"]),
        )
        for each in listed
    ]
