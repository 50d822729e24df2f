"""Averages of the weights along a fit, which are validated and predicted with in the place of the last weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from engine.core.constraints import Range
from engine.core.documents import Reader
from engine.core.options import Reads, read_options


@dataclass(frozen=True, kw_only=True)
class Averaging:
    """An average of parameters and running statistics: what a fit validates, and a checkpoint predicts, with.

    "ema" decays by `decay` each time (a rate of 1 - decay for the new weights; with `warm_up` the decay of time t is at
    most (1 + t) / (10 + t)), as torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn; "swa" is the plain mean
    (Izmailov et al. 2018). Weights are taken every `every_steps` steps (or `every_epochs` epochs) from `first_epoch`
    on; before that the average is the weights themselves.
    """

    kind: Literal["ema", "swa"] = "ema"
    decay: Annotated[float, Range(0, 1)] = 0.999
    warm_up: bool = False
    every_steps: Annotated[int | None, Range(1)] = None
    every_epochs: Annotated[int | None, Range(1)] = None
    first_epoch: Annotated[int, Range(1)] = 1

    def faults(self) -> list[tuple[str, str]]:
        """Find options that exclude each other."""
        both = self.every_steps is not None and self.every_epochs is not None
        return [("/every_steps", "give 'every_steps' or 'every_epochs', not both")] if both else []

    def due(self, step: int, steps_per_epoch: int) -> bool:
        """Tell whether weights are taken after `step` steps."""
        epochs, position = divmod(step, steps_per_epoch)
        if step <= (self.first_epoch - 1) * steps_per_epoch:
            return False
        if self.every_epochs is not None:
            return position == 0 and epochs % self.every_epochs == 0
        if self.every_steps is not None:
            return step % self.every_steps == 0
        return self.kind == "ema" or position == 0

    def rate(self, taken: int) -> float:
        """Return how far the average moves to the new weights when `taken` were taken before; the first replace it."""
        if taken == 0:
            return 1.0
        if self.kind == "swa":
            return 1.0 / (taken + 1)
        decay = min(self.decay, (1 + taken) / (10 + taken)) if self.warm_up else self.decay
        return 1.0 - decay


def _read(reader: Reader, document: Any, pointer: str) -> Averaging | None:
    """Read an average; a text alone is its kind."""
    document = {"kind": document} if isinstance(document, str) else document
    return read_options(reader, document, pointer, Averaging)


Average = Annotated[Averaging | None, Reads(_read, 'an average: "ema", "swa" or an object with its options')]
