"""Inputs that are made of raw columns as they are read: in memory that does not grow with the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from engine.core.dtypes import DType
from engine.core.value import Array
from engine.data.column import Column
from engine.data.source import Source, open_source
from engine.data.table.preprocessing import Preprocessing, RawColumns
from engine.data.table.raw import RawColumn
from engine.data.windows import Windows


class MadeColumn(Column):
    """The rows of an input, computed from raw columns when they are taken."""

    __slots__ = ("_input", "_preprocessing", "_raw")

    def __init__(self, input: str, preprocessing: Preprocessing, raw: Mapping[str, RawColumn], dtype: DType) -> None:
        """Make the rows of `input` in `dtype`."""
        fitted = preprocessing.inputs[input]
        self.name = fitted.items[0].column
        self.rows = raw[self.name].rows
        self.shape = fitted.shape
        self.dtype = dtype
        self.nbytes = 0
        self.mapped = False
        self._whole = None
        self._input, self._preprocessing, self._raw = input, preprocessing, raw

    def take(self, rows: Array | range, into: Array) -> None:
        """Make rows.

        Raises:
            DataError: a raw column holds a value that the model does not take.
        """
        into[...] = self._preprocessing.transform(self._input, self._raw, rows, np.dtype(self.dtype))


def open_preprocessed(
    columns: RawColumns,
    inputs: Mapping[str, str],
    windows: Windows | None,
    preprocessing: Preprocessing | None,
    dtypes: Mapping[str, DType],
) -> Source:
    """Open columns as examples of a trained model; inputs that no column is named for are made by `preprocessing`.

    Args:
        columns: raw columns, and those of other inputs.
        inputs: the column of each input that takes one as it is.
        windows: the windows of which examples consist, or None.
        preprocessing: that of the model, or None.
        dtypes: the dtype of each input of the graph; those made of raw columns are the ones in it and not in `inputs`.

    Raises:
        DataError: a column is missing, empty or of another length.
    """
    made = {} if preprocessing is None else {n: each for n, each in preprocessing.inputs.items() if n in dtypes}
    made = {name: each for name, each in made.items() if name not in inputs}
    held = {**inputs, **{name: each.items[0].column for name, each in made.items()}}
    for each in made.values():
        # Every raw column is checked for its rows, as if it fed an input.
        held.update({f"/raw/{column}": column for column in each.columns})
    source = open_source(columns, held, windows)
    taken = {name: column for name, column in source.inputs.items() if not name.startswith("/raw/")}
    if preprocessing is not None:
        labels = preprocessing.labels
        raw = {c: RawColumn(c, columns[c], labels.get(c)) for each in made.values() for c in each.columns}
        taken |= {name: MadeColumn(name, preprocessing, raw, dtypes[name]) for name in made}
    return replace(source, inputs=taken)
