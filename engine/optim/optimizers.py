"""The tables of optimizers, the source of catalogue and validation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from engine.core.attributes import attributes_of, bind
from engine.core.errors import AttributeValueError, UnknownName, accepted_names
from engine.core.options import options_of
from engine.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from engine.optim.adaptive import Adadelta, Adagrad, Lion, RMSprop, Rprop
from engine.optim.chain import Chain, describe_chain, read_chain
from engine.optim.layerwise import LAMB, LARS, Adafactor, Muon
from engine.optim.lbfgs import LBFGS
from engine.optim.optimizer import Optimizer, Transform
from engine.optim.sgd import ASGD, SGD

OPTIMIZERS: dict[str, type[Transform]] = {
    kind.kind: kind
    for kind in (
        SGD, Adam, AdamW, Adagrad, RMSprop, Adadelta, Adamax, NAdam, RAdam, Rprop, ASGD, Lion,
        LARS, LAMB, Adafactor, Muon, Chain,
    )
}  # fmt: skip
"""Every optimizer that steps by a given gradient, by its kind."""

CLOSURE_OPTIMIZERS: dict[str, type[LBFGS]] = {LBFGS.kind: LBFGS}
"""Every optimizer that evaluates the loss itself, by its kind."""


def make_optimizer(document: Mapping[str, Any]) -> Optimizer:
    """Return an optimizer from {"kind": ..., options}; errors of unknown kinds and options name the nearest."""
    kinds = _kinds()
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        shown = str(kind)[:64]
        raise UnknownName(f"there is no optimizer called {shown!r}{accepted_names(shown, kinds, 'GET /v1/optimizers')}")
    options = {key: value for key, value in document.items() if key != "kind"}
    chosen = kinds[kind]
    if chosen is Chain:
        return read_chain(options)
    return chosen(**bind(kind, {a.name: a for a in attributes_of(chosen)}, options))


def make_transform(document: Mapping[str, Any]) -> Transform:
    """Return an optimizer that steps by a given gradient; one that evaluates the loss itself is an error."""
    made = make_optimizer(document)
    if not isinstance(made, Transform):
        detail = f"{made.kind} evaluates the loss several times a step, so a gradient alone is no step of it"
        raise AttributeValueError(f"{detail}; on the tape, step it by a ClosureOptimizer")
    return made


def optimizer_catalogue() -> list[dict[str, Any]]:
    """Describe every optimizer for a client: kind, documentation, options with their ranges."""
    return [
        {"kind": kind, "doc": inspect.getdoc(chosen) or "", "attrs": _attributes(chosen)}
        for kind, chosen in _kinds().items()
    ]


def _kinds() -> dict[str, type[Optimizer]]:
    return {**OPTIMIZERS, **CLOSURE_OPTIMIZERS}


def _attributes(chosen: type[Optimizer]) -> list[dict[str, Any]]:
    if chosen is Chain:
        return describe_chain()
    ranges = {name: option.range for name, option in options_of(chosen).items() if option.range is not None}
    return [
        {**option.to_json(), **({"range": str(ranges[option.name])} if option.name in ranges else {})}
        for option in attributes_of(chosen)
    ]
