"""Arrays that the server has stored, mapped into memory."""

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from app.ingest.limits import IngestError
from app.ingest.npy_header import read_header
from app.ingest.sources import Region

HEADER_BYTES = 2**16
"""Most bytes of a header: NumPy's own has no more in version 1.0 of the format."""


def map_array(path: str | Path) -> NDArray[Any]:
    """Return the array of a `.npy` file, read-only and memory-mapped; ValueError if it is none.

    NumPy evaluates the header as a Python literal. Python 3.11 may raise SystemError from that in one thread while
    another one does it (AST constructor recursion depth mismatch).
    """
    with Path(path).open("rb") as file:
        try:
            header = read_header(Region(file, 0, os.fstat(file.fileno()).st_size), HEADER_BYTES)
        except IngestError as error:
            msg = f"{path} is no array that was stored: {error}"
            raise ValueError(msg) from error
    order: Literal["C", "F"] = "F" if header.fortran_order else "C"
    return np.memmap(path, header.dtype, "r", len(header.written), header.shape, order)
