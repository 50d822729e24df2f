"""What a layer needs of the place it is built in: names for its parameters and buffers, and ops to apply."""

from __future__ import annotations

from typing import Any, Protocol

from engine.core.value import Shape, Value


class Scope(Protocol):
    """One layer's place in a model under construction."""

    def input(self, name: str) -> Value:
        """Return another input of the model by its name.

        Raises:
            UnknownName: the model has no such input.
        """

    def parameter(self, name: str, shape: Shape, **init: Any) -> Value:
        """Declare a trainable parameter `name` that starts as the initialiser `init` (kind and options) says."""

    def buffer(self, name: str, shape: Shape, *, kind: str = "zeros", dtype: str = "float32") -> Value:
        """Declare a buffer `name`: state that is not trained."""

    def apply(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> Value:
        """Apply an op and return its first output; the last one of a layer is what flows on."""

    def apply_all(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> tuple[Value, ...]:
        """Apply an op and return all its outputs."""


class Inner:
    """The place of a layer within another: what it declares and applies goes by its own name there."""

    def __init__(self, scope: Scope, name: str) -> None:
        """Stand in `scope`, under `name`."""
        self._scope = scope
        self._name = name

    def input(self, name: str) -> Value:
        """Return an input of the model."""
        return self._scope.input(name)

    def parameter(self, name: str, shape: Shape, **init: Any) -> Value:
        """Declare a parameter."""
        return self._scope.parameter(f"{self._name}.{name}", shape, **init)

    def buffer(self, name: str, shape: Shape, *, kind: str = "zeros", dtype: str = "float32") -> Value:
        """Declare a buffer."""
        return self._scope.buffer(f"{self._name}.{name}", shape, kind=kind, dtype=dtype)

    def apply(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> Value:
        """Apply an op."""
        return self.apply_all(op, *inputs, name=name, **attrs)[0]

    def apply_all(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> tuple[Value, ...]:
        """Apply an op and return all its outputs."""
        return self._scope.apply_all(op, *inputs, name=f"{self._name}.{name}" if name else self._name, **attrs)
