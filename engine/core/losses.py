"""What an op that is a loss declares: its predictions, its further operands and how its mean is formed.

Metrics, reports and the `layers` form of a graph read these declarations; no other module lists the losses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

PredictionForm = Literal[
    "class_logits",
    "class_log_probabilities",
    "class_probabilities",
    "class_scores",
    "binary_logits",
    "binary_probabilities",
    "numbers",
]

NUMBERS = "floating [rows, ...]"
LOGITS = "logits, floating [rows, ...]"
SAME_SHAPE = "numbers in the shape of the predictions"
CLASS_SCORES = "floating [rows, classes] or [rows, classes, ...]"
CLASSES = "integers 0 to classes - 1: [rows], or [rows, ...] as the predictions without axis 1"
SIGNS = "1 or -1"


@dataclass(frozen=True, slots=True)
class LossOperand:
    """An operand of a loss beside the predictions.

    Attributes:
        name: the parameter of the op, and the option of a loss in the `layers` form.
        shape: its accepted shapes and values, in words.
        required: a document must give it.
        takes: the name of a value of the graph ("name"), or a name or numbers in the document ("numbers").
        by_class: it holds one number for each class.
    """

    name: str
    shape: str
    required: bool = True
    takes: Literal["name", "numbers"] = "name"
    by_class: bool = False

    def to_json(self) -> dict[str, Any]:
        """Describe it for the catalogue."""
        return {
            "name": self.name,
            "required": self.required,
            "takes": "the name of an input" if self.takes == "name" else "the name of an input, or numbers",
            "shape": self.shape,
        }


def target(shape: str = SAME_SHAPE) -> LossOperand:
    """Return the operand `target`."""
    return LossOperand("target", shape)


def weight(shape: str = "numbers that broadcast to the predictions", *, required: bool = False) -> LossOperand:
    """Return the operand `weight`: factors of the losses of elements."""
    return LossOperand("weight", shape, required, "numbers")


CLASS_WEIGHT = LossOperand("weight", "one number for each class", False, "numbers", True)


@dataclass(frozen=True, slots=True)
class Loss:
    """What a loss compares. The first input of its op holds the predictions; `operands` are the others, in order.

    Attributes:
        predictions: accepted shapes and values of the predictions, in words.
        operands: the other inputs of the op.
        form: what the predictions are, for metrics; None if no metric can compare them with the targets.
        class_axis: their axis of classes; 1 is the only axis of a vector.
        paired: operands compared with the predictions element by element: their shapes must be equal.
        parts: operands that the option `split` may cut out of the predictions.
        weighted_mean: a mean divides by the weights of the classes of those targets that are not ignored.
        mean_by_weight: a mean divides by the sum of the operand `weight`.
        time_major: the predictions are [steps, rows, classes], with the lengths of rows in the operands `input_lengths`
            and `target_lengths`; a mean divides the loss of each row by its target length.
    """

    predictions: str
    operands: tuple[LossOperand, ...]
    form: PredictionForm | None = None
    class_axis: int = 1
    paired: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    weighted_mean: bool = False
    mean_by_weight: bool = False
    time_major: bool = False

    @property
    def has_variance(self) -> bool:
        """Whether an operand is the variance of the predictions."""
        return any(operand.name == "var" for operand in self.operands)
