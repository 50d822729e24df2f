"""What the tape stores with nodes and values, so that writes to saved memory are detected."""

from __future__ import annotations

import traceback

import numpy as np

from engine.core.errors import GradientError
from engine.core.modes import MODES
from engine.core.value import Node, Value


def note_inputs(node: Node, inputs: tuple[Value, ...]) -> None:
    """Store in a node of the tape what its backward rule checks and reports."""
    if any(v.counter is not None for v in inputs):
        node.versions = tuple(v.version for v in inputs)
    if any(v.inference for v in inputs):
        raise GradientError(
            f"{node.op.name}: a value made in inference mode cannot be saved for backward; copy() it outside that mode"
        )
    if MODES.anomaly:
        node.origin = "".join(traceback.format_stack(limit=8)[:-3])


def mark_results(inputs: tuple[Value, ...], values: tuple[Value, ...], *, is_view: bool, differentiable: bool) -> None:
    """Mark results that share memory with an input, and those that may never be recorded."""
    for value in values:
        value.inference = MODES.inference
    if is_view and np.may_share_memory(inputs[0].data, values[0].data):
        base, view, counter = inputs[0], values[0], inputs[0].shared_counter()
        view.counter = counter
        counter.viewed = True
        if view.node is not None:
            view.node.counters = {0: (counter, counter.version)}
        view.inference = view.inference or base.inference
        if differentiable and (
            (base.requires_grad and not MODES.recording) or (counter.unrecorded and counter.is_unrecorded_view(base))
        ):
            counter.mark_unrecorded_view(view)
