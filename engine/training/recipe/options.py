"""Groups of options of a recipe: records, checkpoints, stopping, precision, freezing, averaging."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from engine.core.attributes import Range
from engine.core.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, DType
from engine.core.options import Reader, Reads, read_options
from engine.optim.groups import matches

CAPTURES = 10_000
"""Maximum number of steps of a fit at which gradients are captured."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientRecord:
    """Captures the gradient of the loss, before clipping, noise and scaling, at some steps of a fit.

    `steps` counts complete steps: 0 is the gradient at the initial values, 100 that of step 101. With `every_steps` it
        is
    also captured after 0, n, 2 n, ... steps. `parameters` are patterns of names, * for anything and ? for one
    character; by default all. Parameters that a step does not train have no gradient there.
    """

    steps: Annotated[tuple[int, ...], Range(0, 10**9)] = ()
    every_steps: Annotated[int | None, Range(1, 10**9)] = None
    parameters: tuple[str, ...] = ("*",)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Find a record of nothing, and one of too many steps."""
        if not self.steps and self.every_steps is None:
            yield "", "give 'steps' or 'every_steps' to capture gradients, or remove this field"
        if len(self.steps) > CAPTURES:
            yield "/steps", f"gradients can be captured at up to {CAPTURES} steps, not {len(self.steps)}"
        if not self.parameters:
            yield "/parameters", "give at least one pattern of names, or leave this out for all parameters"

    def names(self, trained: Iterable[str]) -> tuple[str, ...]:
        """Return the trained parameters whose gradients are captured."""
        return tuple(name for name in trained if matches(name, self.parameters))

    def count(self, total_steps: int) -> int:
        """Count the steps of a fit of `total_steps` at which gradients are captured."""
        every = self.every_steps
        apart = {step for step in self.steps if step < total_steps and (every is None or step % every)}
        return len(apart) + (0 if every is None else -(-total_steps // every))


Often = Annotated[int | None, Range(1, 10**9)]
TRAINING_ROWS = 10_000
"""Approximate maximum number of training rows of a fit, unless the interval is given."""


@dataclass(frozen=True, slots=True)
class CheckpointPolicy:
    """When to write checkpoints (besides the last one), and how many to retain."""

    every_steps: Often = None
    every_epochs: Often = 1
    keep_last: Annotated[int, Range(1, 10**9)] = 3
    keep_best: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """Which training steps become metric rows, and what they contain.

    By default a fit yields at most about `TRAINING_ROWS` of them: one for every step if it has no more steps. With
    `epochs` the end of an epoch yields a row of its own: the loss over the epoch with its uncertainty, and the metrics
    over its rows; validation rows then have uncertainties too. `gradients` are captured in addition. Norms are those
    of each trained parameter: of its gradient in the step, and of its values after it.
    """

    every_steps: Often = None
    gradient_norms: bool = True
    weight_norms: bool = False
    epochs: bool = False
    gradients: GradientRecord | None = None

    def every(self, total_steps: int) -> int:
        """Return the steps between metric rows in a fit of `total_steps`; the last step always yields a row.

        It depends on nothing else, so that a resumed fit yields the rows of an uninterrupted one.
        """
        return self.every_steps or max(1, -(-total_steps // TRAINING_ROWS))


@dataclass(frozen=True, kw_only=True)
class EarlyStopping:
    """The end of a fit whose metric no longer improves.

    After `patience` evaluations in a row that do not beat the best by more than `min_delta`, the fit ends; with
    `restore_best` on the parameters and running statistics of the best evaluation. `monitor` is "loss" (the mean over
    the epoch), "val_loss" (the default where there are rows to validate on), or a metric, as "val_accuracy". Whether
    less or more is better (`mode`) goes by the metric. Evaluations before `first_epoch` are not counted.
    """

    monitor: str | None = None
    mode: Literal["min", "max"] | None = None
    patience: Annotated[int, Range(0, 10**6)] = 5
    min_delta: Annotated[float, Range(0)] = 0.0
    restore_best: bool = True
    first_epoch: Annotated[int, Range(1)] = 1


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of a fit: it ends, successfully, after the step that exceeds one of them.

    Seconds are those of training, over all processes that worked on the fit.
    """

    seconds: Annotated[float | None, Range(0, above=True)] = None
    steps: Annotated[int | None, Range(1, 10**9)] = None


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """The reaction to a loss or a gradient that is not finite.

    "stop", the default, fails the fit with `numerics_nonfinite`, the step and the first node that made such a number;
    "continue" goes on and shows it in the metric rows; "skip" skips the step; "roll_back" restores the state at the end
    of the last good epoch (at first the initial one) and multiplies the learning rate by `factor`. After more than
    `limit` consecutive skipped steps, or rollbacks without a complete epoch between, the fit fails. A gradient whose
    norm overflows counts as not finite. A fit also fails with "stop" if the loss over its validation rows is not
    finite, and with all but "continue" if that loss or a parameter is not finite at its end.
    """

    action: Literal["continue", "stop", "skip", "roll_back"] = "stop"
    factor: Annotated[float, Range(0, 1, above=True, below=True)] = 0.5
    limit: Annotated[int, Range(1, 10**6)] = 10


def mode_of(monitor: str, higher_is_better: Mapping[str, bool]) -> Literal["min", "max"]:
    """Return whether smaller or larger values of a metric are better."""
    return "max" if higher_is_better.get(monitor.removeprefix("val_"), False) else "min"


def improves(value: float, best: float | None, mode: Literal["min", "max"], min_delta: float = 0.0) -> bool:
    """Return whether a value is better than the best one by more than `min_delta`; a non-finite one never is."""
    if not math.isfinite(value):
        return False
    if best is None:
        return True
    return value < best - min_delta if mode == "min" else value > best + min_delta


Precision = Literal["float32", "float64", "mixed_float16", "mixed_bfloat16"]
Activations = Literal["float16", "bfloat16"] | None


def master_dtype(precision: Precision) -> DType:
    """Return the dtype of parameters, optimizer state and running statistics."""
    return FLOAT64 if precision == "float64" else FLOAT32


def low_dtype(precision: Precision) -> DType | None:
    """Return the dtype of matrix products and similar ops if it is another one, else None."""
    return {"mixed_float16": FLOAT16, "mixed_bfloat16": BFLOAT16}.get(precision)


def waiting_dtype(activations: Activations) -> DType | None:
    """Return the dtype of activations saved for the backward pass if it is not their own, else None."""
    return None if activations is None else {"float16": FLOAT16, "bfloat16": BFLOAT16}[activations]


@dataclass(frozen=True, kw_only=True)
class LossScaling:
    """Dynamic scaling of the loss under "mixed_float16", semantics and defaults of torch.amp.GradScaler.

    A step whose gradients are not finite is skipped, and the scale multiplied by `backoff_factor`; after
    `growth_interval` consecutive finite steps it is multiplied by `growth_factor`.
    """

    initial: Annotated[float, Range(0, above=True)] = 2.0**16
    growth_factor: Annotated[float, Range(1, above=True)] = 2.0
    backoff_factor: Annotated[float, Range(0, 1, above=True, below=True)] = 0.5
    growth_interval: Annotated[int, Range(1)] = 2000


@dataclass(frozen=True, kw_only=True)
class Freeze:
    """Keeps the values of parameters whose names match a pattern (or one of several), in some epochs.

    The epochs are those from `first_epoch` to `last_epoch`, both included, counted from 1; without `last_epoch` all
    later ones. A frozen parameter has no gradient, and its optimizer state and step count do not change.
    """

    match: str | tuple[str, ...]
    first_epoch: Annotated[int, Range(1)] = 1
    last_epoch: Annotated[int | None, Range(1)] = None

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns as a list."""
        return (self.match,) if isinstance(self.match, str) else self.match

    def holds(self, epoch: int) -> bool:
        """Return whether it freezes in `epoch`, counted from 1."""
        return self.first_epoch <= epoch and (self.last_epoch is None or epoch <= self.last_epoch)

    def faults(self) -> list[tuple[str, str]]:
        """Find an end before the start."""
        backwards = self.last_epoch is not None and self.last_epoch < self.first_epoch
        return [("/last_epoch", f"must be at least first_epoch, {self.first_epoch}")] if backwards else []


@dataclass(frozen=True, kw_only=True)
class Averaging:
    """An average of parameters and running statistics, used by validation and by predictions.

    "ema" decays by `decay` in each update (a rate of 1 - decay for the new weights; with `warm_up` the decay of update
    t is at most (1 + t) / (10 + t)), as torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn; "swa" is the
    plain mean (Izmailov et al. 2018). It is updated every `every_steps` steps (or `every_epochs` epochs) from
    `first_epoch` on; before that the average is the weights themselves.
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
        """Return whether the average is updated after `step` steps."""
        epochs, position = divmod(step, steps_per_epoch)
        if step <= (self.first_epoch - 1) * steps_per_epoch:
            return False
        if self.every_epochs is not None:
            return position == 0 and epochs % self.every_epochs == 0
        if self.every_steps is not None:
            return step % self.every_steps == 0
        return self.kind == "ema" or position == 0

    def rate(self, taken: int) -> float:
        """Return the rate of the next update after `taken` updates; the first one copies the weights."""
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
