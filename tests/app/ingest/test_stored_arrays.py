"""Stored arrays, mapped as NumPy maps them, and without what it evaluates."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from app.ingest.stored_arrays import map_array


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(), (5,), (0, 3), (4, 3, 2)])
def test_an_array_is_mapped_as_it_was_stored(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    stored = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    for order in ("C", "F"):
        np.save(tmp_path / "a.npy", np.asarray(stored, order=order))  # type: ignore[call-overload]
        with patch("ast.literal_eval", side_effect=AssertionError("the header is evaluated")):
            mapped = map_array(tmp_path / "a.npy")
        assert mapped.dtype == stored.dtype
        np.testing.assert_array_equal(mapped, stored)
        assert not mapped.flags.writeable


def test_what_is_no_array_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00\x10\x00{'descr': object}")
    with pytest.raises(ValueError, match="is no array that was stored"):
        map_array(tmp_path / "a.npy")
