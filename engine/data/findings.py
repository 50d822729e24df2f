"""What deserves a look in the rows of a fit: a target that is nearly one class, columns that are identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.core.value import Array
from engine.data.column import Column

ONE_CLASS = 0.9
ENOUGH_ROWS = 20
"""Number of rows below which different values in all of them are no sign of an identifier."""


class DataFinding(NamedTuple):
    """What was found: its code, the column that it is about, and a sentence that advises what to do."""

    code: str
    column: str
    detail: str


def find_imbalance(column: str, labels: Array, names: Sequence[str] | None) -> DataFinding | None:
    """Return a finding if 90 % or more of the labels (integers or booleans, negative ones missing) are one class.

    `names` are those of the classes; None if they have none.
    """
    labels = labels.reshape(-1).astype(np.int64)
    classes, counts = np.unique(labels[labels >= 0], return_counts=True)
    if len(classes) < 2 or counts.max() < ONE_CLASS * counts.sum():
        return None
    most = int(classes[counts.argmax()])
    name = names[most] if names is not None and most < len(names) else str(most)
    share = 100 * counts.max() / counts.sum()
    detail = f"the target is {share:.0f} % one class, {name[:64]!r}: weigh the classes (class_weights), "
    return DataFinding("imbalanced_target", column, detail + "and look at scores beside the accuracy")


def find_row_names(column: Column) -> DataFinding | None:
    """Return a finding if a column of whole numbers or codes of texts has another value in every row."""
    if column.shape or column.dtype.kind not in "iu" or column.rows < ENOUGH_ROWS:
        return None
    values = column.read(range(column.rows))
    low, high = int(values.min()), int(values.max())
    if high - low + 1 < column.rows or len(np.unique(values)) < column.rows:
        return None
    detail = f"column {column.name!r} is unique in every row: as an identifier, it can only be memorized; leave it out"
    return DataFinding("unique_column", column.name, detail)
