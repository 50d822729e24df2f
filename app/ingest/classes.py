"""Text columns: every distinct text is a class, and a class is a number."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.errors import IngestError, too_large
from app.ingest.limits import IngestLimits

Locate = Callable[[int], str]


def reads_as_number(text: str) -> bool:
    """Whether a lax reader would take `text` for a number: `1_000`, ` 5 `, `inf`, Arabic digits."""
    try:
        float(text)
    except ValueError:
        return False
    return True


class ClassCoder:
    """Codes texts in order of appearance; `sorted_codes` then renumbers the classes in order of their names.

    With `strict`, a text that a lax reader would take for a number is refused: it would silently become a class.
    """

    def __init__(self, pointer: str, limits: IngestLimits, *, strict: bool) -> None:
        self._codes: dict[str, int] = {}
        self._pointer = pointer
        self._limits = limits
        self._strict = strict

    def encode(self, texts: Sequence[str], locate: Locate) -> NDArray[np.int64]:
        """Provisional codes of `texts`; `locate` tells where in the file the k-th one is."""
        fresh = set(texts) - self._codes.keys()
        if fresh:
            for position, text in enumerate(texts):
                if text in fresh:
                    self._add(text, locate(position))
                    fresh.remove(text)
        return np.fromiter(map(self._codes.__getitem__, texts), np.int64, len(texts))

    def _add(self, text: str, where: str) -> None:
        if not text:
            raise IngestError("missing_value", self._pointer, f"{where}: text is missing; write a name for this class")
        if len(text) > self._limits.max_class_characters:
            most = self._limits.max_class_characters
            raise IngestError("bad_value", self._pointer, f"{where}: a class name is longer than {most} characters")
        if not text.isprintable():
            raise IngestError("bad_value", self._pointer, f"{where}: the name of a class holds control characters")
        if self._strict and reads_as_number(text):
            raise IngestError(
                "bad_number",
                self._pointer,
                f"{where}: write numbers as 1000 or 1e3, finite, digits 0 to 9, no _, no spaces",
            )
        if len(self._codes) == self._limits.max_classes:
            raise too_large("too_many_classes", self._pointer, "different texts in a column", self._limits.max_classes)
        self._codes[text] = len(self._codes)

    def names(self) -> tuple[str, ...]:
        """The classes by their final codes."""
        return tuple(sorted(self._codes))

    def sorted_codes(self) -> Callable[[NDArray[Any]], NDArray[Any]]:
        """Function from provisional to final codes."""
        final = {name: code for code, name in enumerate(self.names())}
        table = np.array([final[name] for name in self._codes], np.int64)
        return lambda provisional: table[provisional]
