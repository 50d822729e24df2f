"""Inputs of a fit that are made of raw columns: statistics of the training rows, and the arrays that batches take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.core.dtypes import DType
from engine.core.errors import CheckpointError
from engine.core.value import Array
from engine.data.column import Column
from engine.data.source import Source
from engine.data.table.preprocessing import Preprocessing, fit_preprocessing, open_columns
from engine.data.table.raw import RawColumn, TextColumn
from engine.training.recipe.recipe import Recipe

Columns = Mapping[str, Array | Sequence[Array] | TextColumn]


@dataclass(frozen=True, slots=True, eq=False)
class _SourceInputs:
    """The arrays of one source, and the raw columns that they are made of."""

    raw: Mapping[str, RawColumn]
    arrays: Mapping[str, Array]


class PreprocessedInputs:
    """The preprocessing of a fit: fitted on its training rows, or taken from a checkpoint.

    Attributes:
        preprocessing: the transforms with their statistics.
    """

    def __init__(
        self, recipe: Recipe, columns: Columns, source: Source, train: Array, dtypes: Mapping[str, DType]
    ) -> None:
        """Fit the section of the recipe on the rows that the training examples contain, each counted once."""
        self._recipe = recipe
        self._dtypes = dtypes
        self._made: list[_SourceInputs] = []
        self._raw = open_columns(recipe.columns, columns)
        rows = {name: source.rows_of(name, train) for name in recipe.columns}
        self.preprocessing: Preprocessing = fit_preprocessing(recipe.columns, self._raw, rows)

    def apply(self, source: Source, columns: Columns | None = None) -> Source:
        """Return the same examples with the inputs made of `columns`, by default those to train on."""
        raw = self._raw if columns is None else open_columns(self._recipe.columns, columns)
        arrays = {
            name: self.preprocessing.transform(name, raw, range(source.rows), self._dtypes[name])
            for name in self._recipe.columns
        }
        self._made.append(_SourceInputs(raw, arrays))
        made = {name: Column(self._recipe.column_of(name), array) for name, array in arrays.items()}
        return replace(source, inputs={**source.inputs, **made})

    def adopt(self, stored: Preprocessing | None) -> None:
        """Take the statistics of a checkpoint, unless it has another section; the arrays are computed again.

        Raises:
            CheckpointError: its inputs have other shapes.
        """
        if stored is None or stored.section != self.preprocessing.section:
            return
        if stored.to_json() == self.preprocessing.to_json():
            return
        for made in self._made:
            for name, array in made.arrays.items():
                if stored.inputs[name].shape != array.shape[1:]:
                    shapes = f"{list(stored.inputs[name].shape)}, this fit {list(array.shape[1:])}"
                    raise CheckpointError(f"the checkpoint's columns make rows of {name!r} of shape {shapes}")
                array[...] = stored.transform(name, made.raw, np.arange(len(array)), array.dtype)
        self.preprocessing = stored
