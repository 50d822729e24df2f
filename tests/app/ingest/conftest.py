"""Reading bytes as an upload, in this process: the child is tested in `test_ingest.py`."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.ingest.ingest import read_file
from app.ingest.limits import Header, IngestError, IngestLimits, IngestOptions
from app.ingest.verdict import IngestResult

Read = Callable[..., IngestResult]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """`read(data, format, columns_spec=..., limits=..., header=...)` into a fresh folder."""
    numbers = count()

    def read_bytes(
        data: bytes,
        format: str,
        columns_spec: str | None = None,
        limits: IngestLimits | None = None,
        header: Header = "auto",
        **dialect: Any,
    ) -> IngestResult:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        upload = folder / "upload"
        upload.write_bytes(data)
        target = folder / "columns"
        target.mkdir()
        options = IngestOptions(columns_spec, header=header, **dialect)
        return read_file(upload, format, target, options, limits or IngestLimits())

    return read_bytes


@pytest.fixture
def arrays(read: Read) -> Callable[..., dict[str, np.ndarray]]:
    """Like `read`, and loads every column with NumPy's own reader."""

    def read_arrays(*arguments: object, **options: object) -> dict[str, np.ndarray]:
        result = read(*arguments, **options)
        loaded = {}
        for column in result.columns:
            array = np.load(column.path, allow_pickle=False)
            assert array.flags.c_contiguous
            assert array.dtype == np.dtype(column.dtype).newbyteorder("<")
            assert array.shape == (result.rows, *column.shape)
            loaded[column.name] = array
        return loaded

    return read_arrays


@pytest.fixture
def refusal(read: Read) -> Callable[..., IngestError]:
    """Like `read`, for files that are refused: returns the error."""

    def read_refused(*arguments: object, **options: object) -> IngestError:
        with pytest.raises(IngestError) as caught:
            read(*arguments, **options)
        return caught.value

    return read_refused
