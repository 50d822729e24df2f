"""The table of optimizers, from which catalogue and validation come."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from engine.attributes import attributes_of, bind
from engine.errors import UnknownName, nearest
from engine.optim.adafactor import Adafactor
from engine.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from engine.optim.adaptive import Adadelta, Adagrad, RMSprop
from engine.optim.layerwise import LAMB, LARS
from engine.optim.muon import Muon
from engine.optim.sgd import ASGD, SGD
from engine.optim.signs import Lion, Rprop
from engine.optim.transform import Optimizer

OPTIMIZERS: dict[str, type[Optimizer]] = {
    kind.kind: kind
    for kind in (
        SGD, Adam, AdamW, Adagrad, RMSprop, Adadelta, Adamax, NAdam, RAdam, Rprop, ASGD, Lion,
        LARS, LAMB, Adafactor, Muon,
    )
}  # fmt: skip
"""Every optimizer by its kind."""


def make_optimizer(document: Mapping[str, Any]) -> Optimizer:
    """Make an optimizer from {"kind": ..., options}; unknown kinds and options are errors that name the nearest."""
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in OPTIMIZERS:
        shown = str(kind)[:64]
        raise UnknownName(f"there is no optimizer called {shown!r}{nearest(shown, OPTIMIZERS)}")
    options = {key: value for key, value in document.items() if key != "kind"}
    chosen = OPTIMIZERS[kind]
    return chosen(**bind(kind, {a.name: a for a in attributes_of(chosen)}, options))


def optimizer_catalogue() -> list[dict[str, Any]]:
    """Describe every optimizer for a client: kind, documentation, options."""
    return [
        {"kind": kind, "doc": inspect.getdoc(chosen) or "", "attrs": [a.to_json() for a in attributes_of(chosen)]}
        for kind, chosen in OPTIMIZERS.items()
    ]
