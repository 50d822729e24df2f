"""Augmentation of images and sequences: random changes in training only, with a draw for each example."""

from __future__ import annotations

from typing import Annotated

from engine.core.attributes import Range
from engine.core.value import Value
from engine.nn.layers.table import Scope, layer, layer_of_op

for _name in (
    "random_horizontal_flip",
    "random_vertical_flip",
    "random_crop",
    "random_rotation",
    "random_affine",
    "random_erasing",
    "gaussian_noise",
    "time_masking",
    "random_masking",
):
    layer_of_op(_name)


@layer
def mixup(
    scope: Scope,
    x: Value,
    *,
    target: str,
    classes: Annotated[int | None, Range(1)] = None,
    alpha: Annotated[float, Range(0, 1e6, above=True)] = 0.2,
) -> Value:
    """Mix each example with the next of the batch in training, and its `target` in the same proportions.

    `target` is another input, which the loss then takes as it is mixed: classes int[N], of which there are `classes`,
    become probabilities [N, classes]. Each proportion is drawn from Beta(alpha, alpha) (Zhang et al. 2018).
    """
    mixed, mixed_target = scope.apply_all("mixup", x, scope.input(target), classes=classes, alpha=alpha)
    scope.replace_input(target, mixed_target)
    return mixed
