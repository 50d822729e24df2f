"""The losses that the `layers` spelling of a graph may end in: ops of predictions and targets."""

from __future__ import annotations

from typing import Any

from engine.registry import OPS, lookup

LOSSES = (
    "cross_entropy",
    "nll_loss",
    "bce_with_logits_loss",
    "bce_loss",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "kl_div",
)


def loss_catalogue() -> list[dict[str, Any]]:
    """Describe every loss for a client: kind, other names, documentation, options."""
    return [
        {
            "kind": name,
            "aliases": list(OPS[name].aliases),
            "doc": OPS[name].doc,
            "attrs": [attribute.to_json() for attribute in lookup(name).attributes.values()],
        }
        for name in LOSSES
    ]
