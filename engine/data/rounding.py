"""Columns in the dtypes of a graph's inputs: values that a cast merges, and columns cast once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from engine.core.dtypes import DType, is_float
from engine.core.value import Array
from engine.data.column import Column
from engine.data.scaling import Scales
from engine.data.source import Source

CAST_BYTES = 2**26
"""Maximum bytes of columns that are cast once; larger columns are cast batch by batch."""
COMPARED_NUMBERS = 2**20
"""Maximum count of numbers of an input that are compared, in the first examples."""


class RoundedInput(NamedTuple):
    """An input whose dtype merges distinct values of its column.

    Attributes:
        name: of the input.
        column: of the input.
        dtype: of the input.
        lost: number of distinct values that become equal to another one, summed over the elements of an example.
        distinct: number of distinct values.
        examples: number of examples compared, from the first one on.
    """

    name: str
    column: str
    dtype: str
    lost: int
    distinct: int
    examples: int

    def __str__(self) -> str:
        """Return a sentence that advises what to do."""
        what = f"input {self.name!r} takes column {self.column!r} as {self.dtype}"
        lost = f"{self.lost} of {self.distinct} distinct values become equal to another one"
        advice = "fit with precision float64, or subtract an offset from the column before it is uploaded"
        return f"{what}: {lost} in the first {self.examples} examples; {advice}"


def rounded_inputs(source: Source, dtypes: Mapping[str, DType]) -> list[RoundedInput]:
    """Return the inputs that merge distinct values when `source` gathers (and scales) them as `dtypes`.

    Only numbers that a float type may round are compared, the first `COMPARED_NUMBERS` of an input.
    """
    found = []
    for name, column in source.inputs.items():
        if not _may_round(column.dtype, dtypes[name], scaled=name in source.scales):
            continue
        shape = source.spec(name).shape
        examples = np.arange(min(source.count, max(2, COMPARED_NUMBERS // max(1, int(np.prod(shape))))))
        whole, cast = (np.empty((len(examples), *shape), dtype) for dtype in (column.dtype, dtypes[name]))
        alone = replace(source, inputs={name: column})
        alone.scaled(Scales()).gather(examples, {name: whole})
        alone.gather(examples, {name: cast})
        distinct = _count_distinct(whole)
        lost = distinct - _count_distinct(cast)
        if lost > 0:
            found.append(RoundedInput(name, column.name, dtypes[name].name, lost, distinct, len(examples)))
    return found


def _may_round(stored: DType, wanted: DType, *, scaled: bool) -> bool:
    """Return whether a cast may change numbers: floats, and integers of more digits."""
    return is_float(wanted) and stored.kind in "iuf" and (scaled or not np.can_cast(stored, wanted))


def _count_distinct(examples: Array) -> int:
    """Return the number of distinct values for each element of an example, summed over the elements."""
    ordered = np.sort(examples.reshape(len(examples), -1), axis=0)
    changes = int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    return changes + int(ordered.shape[1])


def cast_inputs(source: Source, dtypes: Mapping[str, DType]) -> Source:
    """Return the same examples, with columns copied in the dtype of their input where it differs.

    Batches are then gathered without a cast, which lets many steps run in one native call. Columns of several arrays,
    scaled inputs, and copies beyond `CAST_BYTES` in all are not cast.
    """
    made: dict[tuple[int, DType], Column] = {}
    inputs = dict(source.inputs)
    left = CAST_BYTES
    for name, column in source.inputs.items():
        wanted, whole = dtypes[name], column.whole
        if name in source.scales or whole is None or column.dtype == wanted:
            continue
        key = (id(column), wanted)
        size = whole.size * wanted.itemsize
        if key not in made and size <= left:
            left -= size
            made[key] = Column(column.name, whole.astype(wanted))
        inputs[name] = made.get(key, column)
    return replace(source, inputs=inputs)
