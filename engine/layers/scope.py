"""What a layer needs of the place it is built in: names for its parameters and buffers, and ops to apply."""

from __future__ import annotations

from typing import Any, Protocol

from engine.value import Shape, Value


class Scope(Protocol):
    """One layer's place in a model under construction."""

    def parameter(self, name: str, shape: Shape, **init: Any) -> Value:
        """Declare a trainable parameter `name` that starts as the initialiser `init` (kind and options) says."""

    def buffer(self, name: str, shape: Shape, *, kind: str = "zeros", dtype: str = "float32") -> Value:
        """Declare a buffer `name`: state that is not trained."""

    def apply(self, op: str, *inputs: Value, name: str = "", **attrs: Any) -> Value:
        """Apply an op; the last one of a layer is what flows on."""
