"""Answers that are kept encoded: what is polled by many is encoded once."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from fastapi import Response

V = TypeVar("V")


class EncodedAnswers(Generic[V]):
    """The answers that were asked for last, by key, each as long as its value is the present one. Thread-safe."""

    def __init__(self, most: int) -> None:
        """Keep the answers to `most` keys."""
        self._most = most
        self._lock = threading.Lock()
        self._encoded: OrderedDict[str, tuple[V, Response]] = OrderedDict()

    def of(self, key: str, value: V, encode: Callable[[], Response]) -> Response:
        """Return the answer that shows `value`, by `encode` unless it was made before."""
        with self._lock:
            known = self._encoded.get(key)
            if known is not None and known[0] is value:
                self._encoded.move_to_end(key)
                return known[1]
        encoded = encode()
        with self._lock:
            self._encoded[key] = value, encoded
            if len(self._encoded) > self._most:
                self._encoded.popitem(last=False)
        return encoded
