"""Memory in huge pages: a fork copies an entry of the page table for each page, and the exit of a process frees it.

What a forked process writes to is copied by pages of 4 KiB as ever: the kernel splits the huge page in that process.
"""

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

HUGE_PAGE_BYTES = 2 << 20
MAPS = Path("/proc/self/maps")
_MADV_COLLAPSE = 25  # of <linux/mman.h>, since Linux 6.1


def collapse_heap() -> Iterator[None]:
    """Move what this process has allocated into huge pages, one at each step, which takes about 5 ms.

    The process should have one thread: the stack of another would take a huge page as well. Before Linux 6.1, and on
    other systems, nothing happens.
    """
    if sys.platform != "linux":
        return
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for first, end in _anonymous():
        aligned = -(-first // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
        for address in range(aligned, end - HUGE_PAGE_BYTES + 1, HUGE_PAGE_BYTES):
            madvise(address, HUGE_PAGE_BYTES, _MADV_COLLAPSE)  # fails where nothing is in use, which changes nothing
            yield


def _anonymous() -> list[tuple[int, int]]:
    """Return where the writable mappings of no file begin and end."""
    found = []
    for line in MAPS.read_text(encoding="utf-8").splitlines():
        addresses, mode, _, _, inode, *name = line.split(maxsplit=5)
        if mode == "rw-p" and inode == "0" and (not name or name == ["[heap]"]):
            first, _, end = addresses.partition("-")
            found.append((int(first, 16), int(end, 16)))
    return found
