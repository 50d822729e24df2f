"""An early start of writing files to the disk, so that a later sync has less to wait for."""

import ctypes
import sys
from collections.abc import Callable

_WRITE = 2  # SYNC_FILE_RANGE_WRITE of <fcntl.h>

WRITEBACK_BYTES = 4 << 20
"""Bytes of a file to be written together; what is smaller may wait for the sync."""


def _find_sync_file_range() -> Callable[..., int] | None:
    """Return the function of the C library (Linux only)."""
    function = getattr(ctypes.CDLL(None), "sync_file_range", None) if sys.platform == "linux" else None
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
        function.restype = ctypes.c_int
    return function


_sync_file_range = _find_sync_file_range()


def start_writeback(descriptor: int) -> None:
    """Have the system begin to write what an open file holds, without waiting for it.

    This promises nothing: a file is on the disk once it is synced. A failure is left for the sync to meet.
    """
    if _sync_file_range is not None:
        _sync_file_range(descriptor, 0, 0, _WRITE)
