"""The catalogue of ops, initialisers and metrics as data, complete by construction: read off the tables."""

from __future__ import annotations

import inspect
from typing import Any

from engine.initializers import INITIALIZERS, options_of
from engine.recipe import METRICS
from engine.registry import OPS, Op, lookup


def op_catalogue() -> list[dict[str, Any]]:
    """Describe every op, in the order of the families."""
    return [_entry(op) for op in OPS.values()]


def op_entry(name: str) -> dict[str, Any]:
    """Describe the op called `name`, or known by that alias.

    Raises:
        UnknownName: with the nearest known name.
    """
    return _entry(lookup(name))


def initializer_catalogue() -> list[dict[str, Any]]:
    """Describe every initialiser: kind, documentation, options."""
    return [
        {
            "kind": kind,
            "doc": inspect.getdoc(draw) or "",
            "attrs": [attribute.to_json() for attribute in options_of(kind).values()],
        }
        for kind, draw in INITIALIZERS.items()
    ]


def metric_catalogue() -> list[dict[str, Any]]:
    """Describe every metric of a fit."""
    return [{"kind": kind, "doc": lookup(kind).doc, "attrs": []} for kind in METRICS]


def _entry(op: Op[Any]) -> dict[str, Any]:
    return {
        "name": op.name,
        "aliases": list(op.aliases),
        "family": op.body.__module__.rpartition(".")[2],
        "doc": op.doc,
        "inputs": [_input(parameter) for parameter in op.inputs],
        "attrs": [attribute.to_json() for attribute in op.attributes.values()],
        "outputs": "several" if op.several else "one",
        "composite": op.composite,
        "differentiable": op.differentiable,
        "random": op.random,
        "view": op.view,
    }


def _input(parameter: inspect.Parameter) -> dict[str, Any]:
    variadic = parameter.kind is parameter.VAR_POSITIONAL
    return {
        "name": parameter.name,
        "variadic": variadic,
        "required": parameter.default is parameter.empty and not variadic,
    }
