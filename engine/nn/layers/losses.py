"""Losses of the `layers` form of a graph: ops of predictions, targets and further operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from engine.core.registry import OPS, Op, lookup

Takes = Literal["name", "numbers"]
"""Whether an operand is the name of a value of the graph, or that or numbers in the document."""

SAME = "numbers in the shape of the predictions"
CLASS_SCORES = "floating [rows, classes] or [rows, classes, ...]"
CLASSES = "integers 0 to classes - 1: [rows], or [rows, ...] as the predictions without axis 1"
FACTORS = "one number for each class"


@dataclass(frozen=True, slots=True)
class Operand:
    """What a loss takes beside the predictions: an option of the loss, and what it has to be, in words."""

    name: str
    shape: str
    required: bool = True
    takes: Takes = "name"
    by_class: bool = False

    def to_json(self) -> dict[str, Any]:
        """Describe it for the catalogue."""
        return {
            "name": self.name,
            "required": self.required,
            "takes": "the name of an input" if self.takes == "name" else "the name of an input, or numbers",
            "shape": self.shape,
        }


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss: what it takes for predictions, and its further operands in the order of the op."""

    predictions: str
    operands: tuple[Operand, ...]
    parts: tuple[str, ...] = ()
    """Operands that `split` may cut out of the predictions."""
    class_axis: int | None = None
    paired: tuple[str, ...] = ()
    """Operands that are compared with the predictions element by element: their shapes must be equal."""


def _target(shape: str = SAME) -> Operand:
    return Operand("target", shape)


def _weight(shape: str = "numbers that broadcast to the predictions", *, required: bool = False) -> Operand:
    return Operand("weight", shape, required, "numbers")


CLASS_WEIGHT = Operand("weight", FACTORS, False, "numbers", True)
SIGNS = "1 or -1"

LOSSES: Mapping[str, Loss] = MappingProxyType(
    {
        "cross_entropy": Loss(
            f"logits, {CLASS_SCORES}",
            (_target(f"{CLASSES}; or probabilities, floating, in the shape of the logits"), CLASS_WEIGHT),
            class_axis=1,
        ),
        "nll_loss": Loss(f"log-probabilities, {CLASS_SCORES}", (_target(CLASSES), CLASS_WEIGHT), class_axis=1),
        "bce_with_logits_loss": Loss(
            "logits, floating [rows, ...]",
            (
                _target("0 to 1, floating, in the shape of the logits"),
                Operand("pos_weight", "numbers that broadcast to the logits", False, "numbers"),
                _weight("numbers that broadcast to the logits"),
            ),
            paired=("target",),
        ),
        "bce_loss": Loss(
            "probabilities 0 to 1, floating [rows, ...]",
            (_target("0 to 1, in the shape of p"), _weight()),
            paired=("target",),
        ),
        "mse_loss": Loss("floating [rows, ...]", (_target(), _weight()), paired=("target",)),
        "l1_loss": Loss("floating [rows, ...]", (_target(),), paired=("target",)),
        "smooth_l1_loss": Loss("floating [rows, ...]", (_target(),), paired=("target",)),
        "huber_loss": Loss("floating [rows, ...]", (_target(),), paired=("target",)),
        "kl_div": Loss(
            "log-probabilities, floating [rows, ...]",
            (_target("probabilities, or with log_target log-probabilities, in the shape of the predictions"),),
            paired=("target",),
        ),
        "gaussian_nll_loss": Loss(
            "means, floating [rows, ...]",
            (
                _target(),
                Operand("var", "variances: the shape of the means, or without their last axis", True, "numbers"),
            ),
            parts=("var",),
            paired=("target",),
        ),
        "poisson_nll_loss": Loss(
            "logarithms of rates, or without log_input rates, floating [rows, ...]",
            (_target("counts, in the shape of the predictions"),),
            paired=("target",),
        ),
        "focal_loss": Loss(
            "logits, floating [rows, ...]", (_target("0 to 1, in the shape of the logits"),), paired=("target",)
        ),
        "weighted_mse_loss": Loss("floating [rows, ...]", (_target(), _weight(required=True)), paired=("target",)),
        "categorical_cross_entropy": Loss(
            f"probabilities, {CLASS_SCORES}",
            (_target("probabilities in the shape of the predictions"),),
            paired=("target",),
        ),
        "ggml_cross_entropy": Loss(
            "logits, floating [..., classes]",
            (_target("probabilities in the shape of the logits"),),
            paired=("target",),
        ),
        "hinge_embedding_loss": Loss(
            "distances, floating [rows, ...]", (_target(f"{SIGNS}, in their shape"),), paired=("target",)
        ),
        "soft_margin_loss": Loss(
            "scores, floating [rows, ...]", (_target(f"{SIGNS}, in the shape of the scores"),), paired=("target",)
        ),
        "multi_margin_loss": Loss(
            "scores, floating [rows, classes]",
            (_target("integers 0 to classes - 1, [rows]"), CLASS_WEIGHT),
            class_axis=-1,
        ),
        "multilabel_margin_loss": Loss(
            "scores, floating [rows, classes]",
            (_target("integers [rows, classes]: in each row its classes, ended by -1"),),
            paired=("target",),
        ),
        "multilabel_soft_margin_loss": Loss(
            "scores, floating [..., classes]",
            (_target("0 or 1, in the shape of the scores"), CLASS_WEIGHT),
            class_axis=-1,
            paired=("target",),
        ),
        "margin_ranking_loss": Loss(
            "the first of two scores, floating [rows, ...]",
            (
                Operand("other", "the second scores, in the shape of the first"),
                _target(f"{SIGNS}, in the shape of the scores"),
            ),
            parts=("other",),
            paired=("other", "target"),
        ),
        "cosine_embedding_loss": Loss(
            "the first of two vectors, floating [rows, width]",
            (Operand("other", "the second vectors [rows, width]"), _target(f"{SIGNS}, [rows]")),
            parts=("other",),
            paired=("other",),
        ),
        "triplet_margin_loss": Loss(
            "anchors, floating [rows, width]",
            (
                Operand("positive", "vectors of the anchors' kind, [rows, width]"),
                Operand("negative", "vectors of another kind, [rows, width]"),
            ),
            parts=("positive", "negative"),
            paired=("positive", "negative"),
        ),
        "ctc_loss": Loss(
            "log-probabilities, floating [rows, steps, classes]",
            (
                _target("integers [rows, longest]: the classes of each row, without the blank"),
                Operand("input_lengths", "integers [rows]: steps of each row; left out, all of them", False),
                Operand("target_lengths", "integers [rows]: classes of each row"),
            ),
        ),
    }
)
"""Every loss by the name of its op."""

BY_EXAMPLE = ("sample_weight", "per_example")
"""Options of every loss that can be had for each example."""


def is_by_example(op: Op[Any]) -> bool:
    """Whether the loss can be had for each example; without a reduction it gives its mean alone."""
    return "reduction" in op.attributes


def _options(name: str, loss: Loss) -> list[dict[str, Any]]:
    """Describe the options of a loss that are not attributes of its op."""
    split = [{"name": "split", "type": "an integer or null", "required": False, "default": None}]
    by_example = [
        {"name": "sample_weight", "type": "a string or null", "required": False, "default": None},
        {"name": "per_example", "type": "true or false", "required": False, "default": False},
    ]
    return (split if loss.parts else []) + (by_example if is_by_example(lookup(name)) else [])


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
        for name, loss in LOSSES.items()
    ]
