"""Write data/torch_orders.json: the order of the arguments of PyTorch's functions that have the name of an op of ours.

Run with a Python that has torch 2.13 and NumPy, the repository root on PYTHONPATH:

    python tests/engine/golden/torch_orders.py

A row is a name and the arguments that PyTorch takes by place, each with its default as Python writes it, or null.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional

from engine.core.registry import ALIASES, OPS, lookup

DATA = Path(__file__).parent / "data" / "torch_orders.json"
SPACES = (torch, torch.nn.functional, torch.linalg, torch.special, torch.Tensor)
Order = list[list[str | None]]


def orders_of(name: str) -> list[Order]:
    """Return the orders in which PyTorch takes the arguments of its functions and methods of this name."""
    found: list[Order] = []
    for space in SPACES:
        function = getattr(space, name, None)
        if not callable(function):
            continue
        for order in _declared(function) or _documented(function, name):
            if space is torch.Tensor and (not order or order[0][0] != "self"):
                order.insert(0, ["self", None])
            if order not in found:
                found.append(order)
    return found


def _declared(function: Any) -> list[Order]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return []
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return []
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [[[p.name, None if p.default is p.empty else repr(p.default)] for p in by_place]]


def _documented(function: Any, name: str) -> list[Order]:
    """Read the signatures at the beginning of the documentation."""
    found = []
    for line in (function.__doc__ or "").strip().splitlines()[:12]:
        match = re.match(rf"(?:\.\. function:: )?(?:\w+\.)*{name}\((.*?)\)(?: ->.*)?(?:\s*#.*)?$", line.strip())
        if match is None or re.match(r"\\?\*\w", match[1]):
            continue
        order: Order = []
        for part in re.split(r",\s*(?![^\[(]*[\])])", match[1]):
            if part.strip().startswith(("*", "\\*")):
                break
            head, _, default = part.partition("=")
            order.append([head.partition(":")[0].strip(), default.strip() or None])
        found.append([entry for entry in order if entry[0]])
    return found


def main() -> None:
    """Write the file."""
    names = [
        name for name in (*OPS, *ALIASES) if lookup(name).attributes and name != "arange"
    ]  # one argument is its end
    rows = [[name, order] for name in names for order in orders_of(name) if len(order) > 1]
    DATA.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
