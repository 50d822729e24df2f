"""Columns of labels: the class or group that each example belongs to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.core.errors import DataError
from engine.core.value import Array


class Labels(NamedTuple):
    """Labels as numbers: `codes` (int64) index the `names`, which are sorted."""

    codes: Array
    names: Array

    @property
    def counts(self) -> Array:
        """How often each occurs."""
        return np.bincount(self.codes, minlength=len(self.names))


def check_labels(column: str, values: Array, purpose: str) -> Labels:
    """Return the labels of a column; `purpose` says in errors what they are for.

    Raises:
        DataError: it holds fractions, which are no labels, or NaN.
    """
    if values.dtype.kind not in "iufbUS":
        raise DataError(f"column {column!r} of type {values.dtype} has no labels to {purpose} by")
    if values.dtype.kind == "f" and not (np.isfinite(values) & (np.trunc(values) == values)).all():
        advice = "name a column of whole numbers or strings"
        raise DataError(f"column {column!r} holds fractions or NaN, which are no labels to {purpose} by: {advice}")
    names, codes = np.unique(values, return_inverse=True)
    return Labels(codes.reshape(-1), names)
