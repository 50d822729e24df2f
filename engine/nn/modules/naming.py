"""How the parameters of a stack of layers are called."""

from __future__ import annotations

from typing import Literal

Naming = Literal["torch", "ggmlR"]
NAMINGS = ("torch", "ggmlR")

SHORT = {"weight": "W", "bias": "b"}
NORM_SHORT = {"weight": "gamma", "bias": "beta"}


def ggmlr_name(number: int, kind: str, name: str) -> str:
    """Return what ggmlR calls `name` of layer `number` (from 1): layer1_W, layer2_gamma."""
    short = NORM_SHORT if kind.endswith("norm") else SHORT
    return f"layer{number}_{short.get(name, name.replace('.', '_'))}"
