"""Forms of predictions: what their numbers are, which tells how classes and probabilities are read off them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from engine.core.dtypes import is_float
from engine.core.value import Shape, Value

PredictionForm = Literal[
    "class_logits",
    "class_log_probabilities",
    "class_probabilities",
    "class_scores",
    "binary_logits",
    "binary_probabilities",
    "numbers",
]

FORMS: Mapping[PredictionForm, str] = MappingProxyType(
    {
        "class_logits": "logits with an axis of classes",
        "class_log_probabilities": "log-probabilities with an axis of classes",
        "class_probabilities": "probabilities with an axis of classes",
        "class_scores": "scores with an axis of classes, of which only the order counts",
        "binary_logits": "one logit for each target 0 or 1",
        "binary_probabilities": "one probability for each target 0 or 1",
        "numbers": "numbers in the shape of the targets",
    }
)
"""Every form, in words."""

PROBABLE: tuple[PredictionForm, ...] = ("class_logits", "class_log_probabilities", "class_probabilities")
BY_CLASS: tuple[PredictionForm, ...] = (*PROBABLE, "class_scores")
BINARY: tuple[PredictionForm, ...] = ("binary_logits", "binary_probabilities")
NUMBERS: tuple[PredictionForm, ...] = ("numbers",)


def class_axis(predictions: Value, axis: int) -> int:
    """Return the axis of classes as an index: 1 is the only axis of a vector, -1 is the last one."""
    return min(axis, predictions.ndim - 1) if axis >= 0 else predictions.ndim + axis


def misfit(form: PredictionForm, axis: int, predictions: Value, targets: Value) -> str | None:
    """Tell what keeps predictions of this form from being compared with the targets; None when nothing does."""
    shapes = f"predictions have shape {list(predictions.shape)}, targets {list(targets.shape)}"
    if form != "numbers" and not is_float(predictions.dtype):
        return f"{FORMS[form]} must be floating, these predictions are {predictions.dtype.name}"
    if form in BY_CLASS:
        return _class_misfit(axis, predictions, targets, shapes)
    if predictions.shape != targets.shape:
        return f"{shapes}: {FORMS[form]} need equal ones; reshape one of them"
    return None


def _class_misfit(axis: int, predictions: Value, targets: Value, shapes: str) -> str | None:
    if not predictions.ndim or not predictions.shape[class_axis(predictions, axis)]:
        return f"{shapes}: the predictions need an axis of classes, at least one"
    if is_float(targets.dtype):
        probable = targets.shape == predictions.shape
        return None if probable else f"{shapes}: targets that are probabilities need the shape of the predictions"
    if targets.dtype.kind not in "iu":
        return f"targets that are classes must be integers, these are {targets.dtype.name}; cast them to int64"
    wanted = without_axis(predictions.shape, class_axis(predictions, axis))
    return None if targets.shape == wanted else f"{shapes}: targets that are classes need {list(wanted)}"


def without_axis(shape: Shape, axis: int) -> Shape:
    """Return the shape without one of its axes."""
    return shape[:axis] + shape[axis + 1 :]


def derive(predictions: Value, targets: Value) -> tuple[PredictionForm, int]:
    """Tell the form, and the axis of classes, from types and shapes alone: where no loss says what is compared.

    Integer targets in the shape of floating predictions without axis 1, or without the last one, are classes.
    Anything else is numbers.
    """
    for axis in (1, -1):
        if targets.dtype.kind in "iu" and misfit("class_scores", axis, predictions, targets) is None:
            return "class_scores", axis
    return "numbers", 1
