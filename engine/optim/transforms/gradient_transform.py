"""What every transform is: slots beside a parameter, and a rule by which the update of a chain goes on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, ClassVar

from engine.core.ranges import Range
from engine.core.value import Spec, Value
from engine.ops.compare import eq, where

Slots = Mapping[str, Value]
Applied = tuple[Value, dict[str, Value]]

Decay = Annotated[float, Range(0, 1, below=True)]
"""What share of a running mean or sum stays in a step."""

Epsilon = Annotated[float, Range(0)]
"""What is added to a denominator, or below a root."""

Positive = Annotated[float, Range(0, above=True)]


class GradientTransform(ABC):
    """One link of a chain: it makes another update of an update, which at first is the gradient.

    Subclasses are dataclasses; their fields are the options, with the ranges they must lie in.
    """

    kind: ClassVar[str]

    @property
    def elementwise(self) -> bool:
        """Whether each element is changed by itself, so that parameters may be put one behind another."""
        return True

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Return shape and dtype of every slot for a parameter; all start at 0."""
        return {}

    @abstractmethod
    def apply(self, update: Value, parameter: Value, slots: Slots) -> Applied:
        """Return the update as it goes on, and the slots after the step.

        Args:
            update: of the parameter's shape: what the transforms before made of the gradient.
            parameter: before the step.
            slots: what `slots` describes.
        """


class WholeTransform(GradientTransform):
    """A transform that needs parameters as they are, not one behind another."""

    @property
    def elementwise(self) -> bool:
        """False: it looks at all elements of a parameter, or at its shape."""
        return False


def started(slots: Slots, name: str, initial: float) -> Value:
    """Return a slot that starts at `initial`, where slots hold 0: the slot `step` says when that is."""
    return where(eq(slots["step"], 0), initial, slots[name]) if initial else slots[name]
