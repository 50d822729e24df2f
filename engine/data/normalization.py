"""Normalisation of inputs: options, and statistics fitted on the examples of the training split alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from engine.core.attributes import Range
from engine.core.errors import DataError, accepted_names, escape, nearest
from engine.core.options import Reader, read_options
from engine.core.value import Array
from engine.data.column import Column
from engine.data.scaling import Affine, Scales
from engine.data.source import Source
from engine.data.statistics import Chunks, Moments, quantiles
from engine.data.windows import Span

CHUNK_BYTES = 2**22
NUMBERS = "iufbV"
Bound = Annotated[float, Range(-1e6, 1e6)]
Percentile = Annotated[float, Range(0, 100)]


@dataclass(frozen=True, kw_only=True)
class Standard:
    """Mean 0 and standard deviation 1 for each element of a row; a constant element is only centred.

    The deviation is that of the rows themselves (divided by their number), as in scikit-learn's StandardScaler.
    """

    center: bool = True
    scale: bool = True

    def fit(self, chunks: Chunks) -> Affine:
        moments = Moments(chunks())
        constant = moments.low == moments.high
        # The extremes are exact; a deviation of equal values may be positive by rounding.
        mean = np.where(constant, moments.low, moments.mean) if self.center else np.zeros_like(moments.mean)
        return Affine(mean, _scale(moments.deviation if self.scale else np.ones_like(mean), constant))


@dataclass(frozen=True, kw_only=True)
class MinMax:
    """The minimum becomes `low` and the maximum `high`, for each element of a row; a constant element becomes `low`."""

    low: Bound = 0.0
    high: Bound = 1.0

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.low >= self.high:
            yield "/high", f"must be greater than low ({self.low:g}), not {self.high:g}"

    def fit(self, chunks: Chunks) -> Affine:
        moments = Moments(chunks())
        with np.errstate(over="ignore", invalid="ignore"):
            spread = (moments.high - moments.low) / (self.high - self.low)
            scale = _scale(spread, np.asarray(moments.low == moments.high))
            return Affine(moments.low - self.low * scale, scale)


@dataclass(frozen=True, kw_only=True)
class Robust:
    """Median 0, and distance 1 between two percentiles, for each element of a row; robust to outliers.

    Quantiles are exact, at the cost of nine passes over the rows. An element whose percentiles are equal is only
    centred, as in scikit-learn's RobustScaler.
    """

    lower: Percentile = 25.0
    upper: Percentile = 75.0

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.lower >= self.upper:
            yield "/upper", f"must be greater than lower ({self.lower:g}), not {self.upper:g}"

    def fit(self, chunks: Chunks) -> Affine:
        low, median, high = quantiles(chunks, (self.lower / 100, 0.5, self.upper / 100))
        with np.errstate(over="ignore"):
            return Affine(median, _scale(high - low, low == high))


Normalization = Standard | MinMax | Robust
KINDS: Mapping[str, type[Normalization]] = {"standard": Standard, "minmax": MinMax, "robust": Robust}


def read_normalize(reader: Reader, value: Any, pointer: str) -> Mapping[str, Normalization]:
    """Read, for each input, a kind or an object with a kind and its options; faults are reported."""
    read = {}
    for name, document in reader.mapping(value, pointer).items():
        normalization = _read_kind(reader, document, f"{pointer}/{escape(name)}")
        if normalization is not None:
            read[name] = normalization
    return read


def fit_scales(source: Source, normalize: Mapping[str, Normalization], examples: Array) -> Scales:
    """Return the scales of inputs, fitted on the rows that these examples contain, each counted once.

    Rows are read in chunks of 4 MiB. Class targets cannot be normalised.

    Raises:
        DataError: there is no such input or no example, or its column holds text, NaN or infinity.
    """
    fitted = {}
    rows_by_span: dict[Span, Array] = {}
    for name, normalization in normalize.items():
        if name not in source.inputs:
            hint = nearest(name, source.inputs) or f"; they are {', '.join(source.inputs)}"
            raise DataError(f"there is no input called {name[:64]!r} to normalise{hint}")
        column, span = source.inputs[name], source.span_of(name)
        if span not in rows_by_span:
            rows_by_span[span] = source.rows_of(name, examples)
        rows = rows_by_span[span]
        if column.dtype.kind not in NUMBERS:
            raise DataError(f"column {column.name!r} of type {column.dtype} holds no numbers to normalise")
        if not len(rows):
            raise DataError(f"there is no example to normalise input {name!r} by")
        fitted[name] = normalization.fit(partial(_chunks, column, rows))
        if not (np.isfinite(fitted[name].shift).all() and np.isfinite(fitted[name].scale).all()):
            raise DataError(f"column {column.name!r} spreads further than float64 reaches: take it in other units")
    return Scales(fitted)


def _read_kind(reader: Reader, document: Any, pointer: str) -> Normalization | None:
    document = {"kind": document} if isinstance(document, str) else reader.mapping(document, pointer)
    if not document:
        reader.fault(pointer, "missing_field", f"give a kind: {', '.join(KINDS)}")
        return None
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        hint = accepted_names(kind, KINDS)
        reader.fault(f"{pointer}/kind", "unknown_name", f"there is no normalisation {str(kind)[:64]!r}{hint}")
        return None
    options = {name: value for name, value in document.items() if name != "kind"}
    return read_options(reader, options, pointer, KINDS[kind])


def _chunks(column: Column, rows: Array) -> Iterator[Array]:
    step = max(CHUNK_BYTES // (8 * int(np.prod(column.shape, dtype=np.int64)) or 1), 1)
    for start in range(0, len(rows), step):
        taken = rows[start : start + step]
        chunk = np.empty((len(taken), *column.shape))
        column.take(taken, chunk)
        if not np.isfinite(chunk).all():
            wrong = np.flatnonzero(~np.isfinite(chunk).reshape(len(taken), -1).all(axis=1))[0]
            detail = f"column {column.name!r} holds NaN or an infinite number in row {taken[wrong]}"
            raise DataError(f"{detail}: fill it, or leave such rows out, before it is normalised")
        yield chunk


def _scale(spread: Array, constant: Array) -> Array:
    """Return the divisor: 1 for a spread of 0, or one too small for float64."""
    return np.where(constant | (spread == 0), 1.0, spread)
