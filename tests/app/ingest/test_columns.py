"""Statistics of columns."""

import numpy as np
import pytest

from app.ingest.columns import Statistics

COLUMNS = {
    "floats": (np.array([1.5, -2.0, 4.0]), (-2.0, 4.0, 3.5 / 3, 0)),
    "floats with NaN": (np.array([np.nan, 1.0, np.nan]), (1.0, 1.0, 1.0, 2)),
    "only NaN": (np.array([np.nan, np.nan]), (None, None, None, 2)),
    "infinities": (np.array([np.inf, 2.0, -np.inf]), (2.0, 2.0, 2.0, 0)),
    "float16": (np.array([1, 2, np.nan], np.float16), (1.0, 2.0, 1.5, 1)),
    "truth values": (np.array([True, False, True, True]), (0, 1, 0.75, 0)),
    "exact integers": (np.array([2**63 - 1, -(2**63)]), (-(2**63), 2**63 - 1, 0.0, 0)),
    "unsigned integers": (np.array([2**64 - 1, 2**64 - 1], np.uint64), (2**64 - 1, 2**64 - 1, 2.0**64, 0)),
    "a sum beyond float64": (np.array([1.7e308, 1.7e308]), (1.7e308, 1.7e308, None, 0)),
    "nothing": (np.array([]), (None, None, None, 0)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_statistics_of_a_column(name):
    values, expected = COLUMNS[name]
    seen = Statistics()
    seen.add(values)
    assert (seen.minimum, seen.maximum, seen.mean, seen.missing) == expected


def test_blocks_add_up_to_the_whole():
    values = np.random.default_rng(0).normal(1e6, 1.0, 10_000).astype(np.float32)
    parts = Statistics()
    for part in np.array_split(values, 37):
        parts.add(part)
    assert (parts.minimum, parts.maximum) == (values.min(), values.max())
    assert parts.mean == pytest.approx(values.mean(dtype=np.float64), rel=1e-12)
