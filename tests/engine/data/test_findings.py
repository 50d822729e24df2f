"""Findings of the rows of a fit: a target that is nearly one class, columns that name rows."""

import numpy as np
import pytest

from engine.data.column import Column
from engine.data.findings import find_imbalance, find_row_names

LABELS = {
    "97 % one class": ([0] * 97 + [1] * 3, ("no", "yes"), "97 % one class, 'no'"),
    "missing labels do not count": ([1] * 18 + [0] + [-1] * 50, None, "95 % one class, '1'"),
    "booleans": ([True] * 9 + [False], None, "90 % one class, '1'"),
    "two thirds": ([0, 0, 1], None, None),
    "a single class": ([2] * 50, None, None),
    "no label": ([-1, -1], None, None),
}


@pytest.mark.parametrize(("labels", "names", "text"), LABELS.values(), ids=LABELS)
def test_a_target_that_is_nearly_one_class_is_found(labels, names, text):
    found = find_imbalance("y", np.array(labels), names)
    assert (found is None) == (text is None)
    if found is not None:
        assert (found.code, found.column) == ("imbalanced_target", "y")
        assert text in found.detail


VALUES = {
    "ids in any order": (np.random.default_rng(0).permutation(50) + 10**12, True),
    "one value twice": (np.append(np.arange(49), 0), False),
    "fractions": (np.arange(50.0), False),
    "few rows": (np.arange(5), False),
    "tensors": (np.arange(100).reshape(50, 2), False),
    "shards": ([np.arange(30, dtype=np.int32), np.arange(30, 60, dtype=np.int32)], True),
}


@pytest.mark.parametrize(("values", "unique"), VALUES.values(), ids=VALUES)
def test_a_column_that_names_rows_is_found(values, unique):
    found = find_row_names(Column("id", values))
    assert (found is not None) == unique
    if found is not None:
        assert (found.code, found.column) == ("unique_column", "id")
