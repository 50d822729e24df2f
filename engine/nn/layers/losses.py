"""The catalogue of losses: the ops that declare one (`engine.core.losses`), and the options of the `layers` form."""

from __future__ import annotations

from typing import Any

from engine.core.losses import Loss
from engine.core.registry import OPS, Op, lookup

PER_ROW_OPTIONS = ("sample_weight", "per_example")
"""Options of every loss that can be computed for each row."""


def loss_declarations() -> dict[str, Loss]:
    """Return the declaration of each loss by the name of its op."""
    return {op.name: op.loss for op in OPS.values() if op.loss is not None}


def has_row_losses(op: Op[Any]) -> bool:
    """Return whether the loss can be computed for each row; without a reduction it gives its mean alone."""
    return "reduction" in op.attributes


def loss_catalogue() -> list[dict[str, Any]]:
    """Describe every loss for a client: kind, other names, documentation, predictions, operands and options."""
    return [
        {
            "kind": name,
            "aliases": list(OPS[name].aliases),
            "doc": OPS[name].doc,
            "predictions": loss.predictions,
            "operands": [operand.to_json() for operand in loss.operands],
            "attrs": [*(attribute.to_json() for attribute in lookup(name).attributes.values()), *_options(name, loss)],
        }
        for name, loss in loss_declarations().items()
    ]


def _options(name: str, loss: Loss) -> list[dict[str, Any]]:
    """Describe the options of a loss that are not attributes of its op."""
    split = [{"name": "split", "type": "an integer or null", "required": False, "default": None}]
    per_row = [
        {"name": "sample_weight", "type": "a string or null", "required": False, "default": None},
        {"name": "per_example", "type": "true or false", "required": False, "default": False},
    ]
    return (split if loss.parts else []) + (per_row if has_row_losses(lookup(name)) else [])
