"""The table of layers: each is a function of its scope, its input and typed attributes, in PyTorch's names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from engine.core.attributes import attributes_of
from engine.core.errors import UnknownName, accepted_names
from engine.core.registry import lookup
from engine.core.value import Value
from engine.nn.layers.scope import Scope

Layer = Callable[..., Value]

LAYERS: dict[str, Layer] = {}
"""Every layer by its kind."""


def layer(build: Layer) -> Layer:
    """Enter a layer into the table under its function's name."""
    LAYERS[build.__name__] = build
    return build


def layer_of_op(name: str, *, kind: str = "") -> Layer:
    """Enter the op `name` of one input as a layer without parameters: `kind`, or the op's own name.

    Its attributes and documentation are the op's; whether it trains is up to the model.
    """
    op = lookup(name)

    def build(scope: Scope, x: Value, **attrs: Any) -> Value:
        return scope.apply(op.name, x, **attrs)

    given = [
        parameter
        for parameter in inspect.signature(op.body).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name not in ("out", "training")
    ]
    hints = get_type_hints(op.body)
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
