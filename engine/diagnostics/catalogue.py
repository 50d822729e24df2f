"""The catalogue of ops and initialisers as data, generated from the registry."""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from engine.autograd.backward import pull_back
from engine.core.dtypes import is_float
from engine.core.errors import UnsupportedOp
from engine.core.modes import tracing
from engine.core.registry import OPS, Op, lookup
from engine.core.rng import key_value
from engine.core.samples import Sample
from engine.core.unsupported_ops import FAMILIES, Family
from engine.core.value import Value
from engine.nn.initializers import INITIALIZERS, options_of
from engine.ops.shape.creation import ones

KINDS = {"b": "truth values", "i": "integers", "u": "integers", "f": "numbers"}


def op_catalogue() -> list[dict[str, Any]]:
    """Describe every op, in the order of the families; at the end those of other engines that are not supported."""
    refused = [_describe_unsupported(family, name) for family in FAMILIES for name in family.members]
    return [_entry(op) for op in OPS.values()] + refused


def op_entry(name: str) -> dict[str, Any]:
    """Describe the op with this name or alias; `supported` says whether a graph can contain it.

    Raises:
        UnknownName: with the nearest known name.
    """
    try:
        return _entry(lookup(name))
    except UnsupportedOp:
        return next(_describe_unsupported(family, name) for family in FAMILIES if name in family.members)


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


def _entry(op: Op[Any]) -> dict[str, Any]:
    observed = _observe(op.name)
    return {
        "name": op.name,
        "supported": True,
        "reason": None,
        "instead": None,
        "aliases": list(op.aliases),
        "family": _family(op),
        "doc": op.doc,
        "inputs": [_input(op, place, observed) for place in range(len(op.inputs))],
        "attrs": [attribute.to_json() for attribute in op.attributes.values()],
        "outputs": "several" if op.multi_output or observed.outputs != 1 else "one",
        "output_count": observed.outputs,
        "output_names": list(op.documentation.outputs),
        "composite": op.composite,
        "differentiable": bool(observed.pulled),
        "no_gradient": op.no_gradient or None,
        "gradient_notes": dict(op.documentation.gradient_notes),
        "second_order": _second_order(op) if observed.pulled else None,
        "data_dependent": op.data_dependent,
        "random": op.random,
        "view": bool(op.view),
    }


def _family(op: Op[Any]) -> str:
    """Return the folder of engine.ops that declares an op; the module of one that is declared elsewhere."""
    path = op.body.__module__.removeprefix("engine.ops.").split(".")
    return path[0] if op.body.__module__.startswith("engine.ops.") else path[-1]


def _describe_unsupported(family: Family, name: str) -> dict[str, Any]:
    instead = family.members[name]
    return {
        "name": name,
        "supported": False,
        "reason": family.reason,
        "instead": instead or None,
        "aliases": [],
        "family": family.name,
        "doc": f"Not supported: {family.reason}{f'; use {instead} instead' if instead else ''}.",
        "inputs": [],
        "attrs": [],
        "outputs": "one",
        "output_count": None,
        "output_names": [],
        "composite": False,
        "differentiable": False,
        "no_gradient": None,
        "gradient_notes": {},
        "second_order": None,
        "data_dependent": False,
        "random": False,
        "view": False,
    }


def _second_order(op: Op[Any]) -> str:
    """Return how second derivatives are computed: by a rule, or through a composition of other ops."""
    return "composition" if op.composite or op.composition is not None else "rule"


def _input(op: Op[Any], place: int, observed: _TraceFacts) -> dict[str, Any]:
    parameter = op.inputs[place]
    variadic = parameter.kind is parameter.VAR_POSITIONAL
    key = op.random and place == len(op.inputs) - 1
    return {
        "name": parameter.name,
        "variadic": variadic,
        "required": parameter.default is parameter.empty and not variadic and not key,
        "role": "random key" if key else " or ".join(observed.kinds[place]),
        "gradient": place in observed.pulled,
    }


class _TraceFacts(NamedTuple):
    """What tracing the samples of an op shows.

    Attributes:
        kinds: for each input, what it holds: "numbers", "integers", "truth values".
        pulled: the inputs that some sample gives a gradient.
        outputs: how many results there are, or None where that depends on the call.
    """

    kinds: tuple[tuple[str, ...], ...]
    pulled: frozenset[int]
    outputs: int | None


@cache
def _observe(name: str) -> _TraceFacts:
    """Trace the samples of an op and the backward rule on them; only ops that depend on data compute."""
    op = OPS[name]
    last = len(op.inputs) - 1
    kinds: list[dict[str, None]] = [{} for _ in op.inputs]
    pulled, counts = set[int](), set[int]()
    for sample in op.samples:
        arrays = _arrays(op, sample)
        held = arrays if op.data_dependent else [None] * len(arrays)
        leaves = [
            Value(a.shape, a.dtype, data, requires_grad=is_float(a.dtype)) for a, data in zip(arrays, held, strict=True)
        ]
        for place, leaf in enumerate(leaves):
            kinds[min(place, last)][KINDS[leaf.dtype.kind]] = None
        with nullcontext() if op.data_dependent else tracing(_key):
            made = op(*leaves, **sample.attrs)
            outputs = made if isinstance(made, tuple) else (made,)
            roots = [value for value in outputs if value.requires_grad]
            found = pull_back(roots, [ones(shape=v.shape, dtype=v.dtype) for v in roots], leaves)
        counts.add(len(outputs))
        pulled.update(min(place, last) for place, gradient in enumerate(found) if gradient is not None)
    depends = len(counts) != 1 or (op.composite and "..." in str(op.body.__annotations__["return"]))
    return _TraceFacts(tuple(tuple(held) for held in kinds), frozenset(pulled), None if depends else counts.pop())


def _arrays(op: Op[Any], sample: Sample) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(array) for array in sample.arrays(op.name)]


def _key() -> Value:
    return key_value(0, 0)
