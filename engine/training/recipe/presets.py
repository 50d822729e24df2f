"""Presets: sets of options under one name, which a recipe's own fields may change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

GGML = "ggml_opt_fit"

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {GGML: {"optimizer": {"kind": "adamw", "weight_decay": 0.0}, "record": {"epochs": True}, "batch_size": 32}}
)
"""The fields that a preset gives. "ggml_opt_fit" also wants whole batches, and holds out a whole number of them."""


def filled_in(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a document with the fields of its preset where it has none of its own."""
    preset = document.get("preset")
    if not isinstance(preset, str) or preset not in PRESETS:
        return document
    filled = {**PRESETS[preset], **{name: value for name, value in document.items() if value is not None}}
    if isinstance(filled["record"], Mapping):
        filled["record"] = {**PRESETS[preset]["record"], **filled["record"]}
    return filled


def whole_batches(examples: int, batch_size: int, micro_batch_size: int | None) -> Iterator[tuple[str, str]]:
    """Yield what keeps batches from being whole, as ggml_opt_fit wants them: a pointer and a sentence."""
    if examples % batch_size:
        yield "/batch_size", f"{GGML} takes whole batches: {examples} examples do not divide into {batch_size}"
    if micro_batch_size is not None and batch_size % micro_batch_size:
        detail = f"{GGML} takes whole parts of batches: {batch_size} does not divide into {micro_batch_size}"
        yield "/micro_batch_size", detail


def held_out_share(examples: int, batch_size: int, split: float) -> float:
    """Return the share of the examples that ggml_opt_fit holds out: whole batches, counted in float32 as there."""
    batches = examples // batch_size
    trained = int(np.float32(1.0 - np.float32(split)) * np.float32(batches))
    return (batches - trained) / batches if batches else split
