"""The tile registers of x86 processors (AMX), which Linux gives to processes that ask for them."""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache

from engine.core.cpu import cpu_features

NEEDED = frozenset({"amx_tile", "amx_bf16", "avx512f"})
"""What the processor must have, as Linux calls it."""
_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18


@cache
def may_use_tiles() -> bool:
    """Return whether this process may use tile registers for products of bfloat16; processes forked later may too."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or not cpu_features() >= NEEDED:
        return False
    refused: int = ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA)
    return not refused
