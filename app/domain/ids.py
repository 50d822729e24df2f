"""Ids: a prefix for the kind, then 26 characters that sort by the time they were made.

The 26 characters are a ULID in lower case: 48 bits of Unix milliseconds, then 80 random bits, in Crockford's base 32
(https://github.com/ulid/spec). An id is only ever looked up; it is never part of a path.
"""

import re
import secrets
import threading
import time
from collections.abc import Callable

CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
LENGTH = 26
RANDOM_BITS = 80
# The step between two ids of one millisecond is itself random, so that processes forked from one another,
# which start from the same last id, still make different ones.
STEP_BITS = 64

_BODY = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}")


def _wall_milliseconds() -> int:
    return time.time_ns() // 1_000_000


class IdSource:
    """Makes ids that strictly increase, also when the clock stands still or is set back. Safe to share by threads."""

    def __init__(self, milliseconds: Callable[[], int] = _wall_milliseconds) -> None:
        self._milliseconds = milliseconds
        self._lock = threading.Lock()
        self._last = 0

    def new(self, prefix: str) -> str:
        """Return `<prefix>_<26 characters>`, greater than every id of this source with that prefix."""
        with self._lock:
            fresh = self._milliseconds() << RANDOM_BITS | secrets.randbits(RANDOM_BITS)
            if fresh >> RANDOM_BITS <= self._last >> RANDOM_BITS:
                fresh = self._last + 1 + secrets.randbits(STEP_BITS)
            self._last = fresh
        return f"{prefix}_{_encode(fresh)}"


_PAIRS = [first + second for first in CROCKFORD for second in CROCKFORD]
_SHIFTS = range(5 * (LENGTH - 2), -1, -10)


def _encode(number: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


# "Increasing within a process" is by its nature one state for the whole process.
_PROCESS = IdSource()


def new_id(prefix: str) -> str:
    """Return a new id of the kind `prefix`, such as `fit_01jd…`; ids of one process increase."""
    return _PROCESS.new(prefix)


def is_id(prefix: str, text: str) -> bool:
    """Whether `text` has the form of an id of the kind `prefix`; says nothing about whether the resource exists."""
    head, separator, body = text.partition("_")
    return head == prefix and bool(separator) and _BODY.fullmatch(body) is not None
