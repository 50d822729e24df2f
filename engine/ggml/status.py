"""Status: how a computation ended."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """How a computation ended (GGML_STATUS_*); the two negative ones are raised, as the status of a ComputeError."""

    SUCCESS = 0
    ABORTED = 1
    FAILED = -1
    ALLOC_FAILED = -2
