"""Weights of classes: what the recipe says of them becomes a constant of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from engine.core.errors import DocumentError, Finding
from engine.core.value import Array
from engine.data import Source, class_weights
from engine.graph.definition import Definition, NodeSpec
from engine.graph.limits import LIMITS
from engine.graph.shape_inference import infer_shapes
from engine.training.step.reduction import BY_CLASS

NAME = "class_weights"


def weigh_classes(
    definition: Definition, weights: Literal["balanced"] | Sequence[float] | None, source: Source | None, train: Array
) -> Definition:
    """Return the graph with weights for the classes of its loss.

    Args:
        definition: the graph; its loss must be one of classes, without weights.
        weights: a factor for each class; "balanced" makes all classes of the training examples count the same; or None.
        source: where the labels are; without it balanced weights are taken as 1.
        train: the training examples.

    Raises:
        DocumentError: there is no such loss, or not as many classes.
    """
    if weights is None:
        return definition
    node = _weighable(definition)
    logits, target = node.inputs[0], node.inputs[1]
    assert isinstance(logits, str)
    traced = infer_shapes(definition, LIMITS).graph.value(logits)
    classes = traced.shape[1] if len(traced.shape) > 1 else traced.shape[0]
    if weights != "balanced":
        if len(weights) != classes:
            raise _refused(f"must be {classes} numbers, one for each class, not {len(weights)}")
        factors = np.asarray(weights, np.float64)
    elif source is None:
        factors = np.ones(classes)
    elif target in source.inputs:
        labels = source.read(train)[str(target)]
        factors = class_weights(labels, classes, "balanced", ignored=node.attrs.get("ignore_index", -100))
    else:
        raise _refused(f"{target!r} is computed by the graph; balanced weights need classes that are fed")
    if NAME in {*definition.inputs, *definition.parameters, *definition.buffers, *definition.constants}:
        raise _refused(f"the graph has something called {NAME!r} already; give it another name")
    weighted = replace(node, inputs=(*node.inputs, NAME))
    return replace(
        definition,
        constants={**definition.constants, NAME: factors.astype(traced.dtype)},
        nodes=tuple(weighted if other is node else other for other in definition.nodes),
    )


def _weighable(definition: Definition) -> NodeSpec:
    losses = {loss.partition(":")[0] for loss in definition.losses}
    found = [node for node in definition.nodes if node.op in BY_CLASS]
    found = [node for node in found if node.name in losses] or found
    if len(found) != 1:
        raise _refused(f"the graph needs one loss of classes ({', '.join(BY_CLASS)}) to weigh; it has {len(found)}")
    if len(found[0].inputs) > 2:
        raise _refused("the loss has weights of its own; leave out one of both")
    return found[0]


def _refused(detail: str) -> DocumentError:
    return DocumentError([Finding("/class_weights", "attribute_invalid", detail)])
