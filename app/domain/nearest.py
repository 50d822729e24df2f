"""Names that are near to one that nobody knows."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def nearest(name: Any, known: Iterable[str]) -> str:
    """Return, as the end of a sentence, which of the names that are known is meant, or what they are."""
    known = [*known]
    near = get_close_matches(str(name)[:64], known, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known are {', '.join(known)}" if known else ""
