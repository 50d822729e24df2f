"""The table of layers: each is a function of its scope, its input and typed attributes, named as in PyTorch."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Protocol, get_type_hints

from engine.core.attributes import Range, attributes_of
from engine.core.errors import UnknownName, accepted_names
from engine.core.registry import lookup
from engine.core.value import Shape, Value


class Scope(Protocol):
    """The scope of a layer in a model under construction."""

    def input(self, name: str) -> Value:
        """Return another input of the model by its name.

        Raises:
            UnknownName: the model has no such input.
        """

    def replace_input(self, name: str, value: Value) -> None:
        """Put a value in the place of another input of the model, for the layers behind and the loss."""

    def parameter(self, name: str, shape: Shape, **init: Any) -> Value:
        """Declare a trainable parameter `name` with the initialiser `init` (kind and options)."""

    def buffer(self, name: str, shape: Shape, *, kind: str = "zeros", dtype: str = "float32") -> Value:
        """Declare a buffer `name`: state that is not trained."""

    def apply(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> Value:
        """Apply an op and return its first output; that of the last op of a layer is the output of the layer."""

    def apply_all(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> tuple[Value, ...]:
        """Apply an op and return all its outputs."""


class Inner:
    """The scope of a layer nested in another: its parameters and nodes are prefixed with its name."""

    def __init__(self, scope: Scope, name: str) -> None:
        """Nest in `scope`, under `name`."""
        self._scope = scope
        self._name = name

    def input(self, name: str) -> Value:
        """Return an input of the model."""
        return self._scope.input(name)

    def replace_input(self, name: str, value: Value) -> None:
        """Replace an input of the model."""
        self._scope.replace_input(name, value)

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


Layer = Callable[..., Value]
Layers = Annotated[int, Range(1, 100)]
"""How many layers a stack has; each has its own weights."""

LAYERS: dict[str, Layer] = {}
"""Every layer by its kind."""


def layer(build: Layer) -> Layer:
    """Register a layer under its function's name."""
    LAYERS[build.__name__] = build
    return build


def layer_of_op(name: str, *, kind: str = "") -> Layer:
    """Register the op `name` of one input as a layer without parameters: `kind`, or the op's own name.

    Its attributes and documentation are those of the op; training mode is set by the model.
    """
    op = lookup(name)

    def build(scope: Scope, x: Value, **attrs: Any) -> Value:
        return scope.apply(op.name, x, **attrs)

    given = [
        parameter
        for parameter in inspect.signature(op.body).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name not in ("out", "training")
    ]
    hints = get_type_hints(op.body, include_extras=True)
    places = [inspect.Parameter(place, inspect.Parameter.POSITIONAL_OR_KEYWORD) for place in ("scope", "x")]
    build.__name__ = kind or op.name
    build.__doc__ = op.doc
    build.__annotations__ = {parameter.name: hints[parameter.name] for parameter in given}
    build.__signature__ = inspect.Signature([*places, *given])  # type: ignore[attr-defined]
    return layer(build)


def find_layer(kind: str) -> Layer:
    """Return the layer called `kind`."""
    if kind not in LAYERS:
        raise UnknownName(f"there is no layer called {kind[:64]!r}{accepted_names(kind, LAYERS, 'GET /v1/layers')}")
    return LAYERS[kind]


def layer_catalogue() -> list[dict[str, Any]]:
    """Describe every layer for a client: kind, documentation, attributes."""
    return [
        {
            "kind": kind,
            "doc": inspect.getdoc(build) or "",
            "attrs": [attribute.to_json() for attribute in attributes_of(build)],
        }
        for kind, build in LAYERS.items()
    ]
