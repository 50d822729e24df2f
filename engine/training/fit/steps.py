"""Inputs and results of training steps: losses, metric rows, captured gradients; many steps in one interpreter call."""

from __future__ import annotations

import json
import math
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from engine.core.dtypes import INT64
from engine.core.value import Array
from engine.data.source import Source
from engine.execution.plan import NumpyExecutor
from engine.graph.trace import KEY
from engine.training.recipe.options import GradientRecord
from engine.training.step.names import (
    AVERAGING,
    FINITE,
    LOSS,
    LOSS_WEIGHT,
    MOMENTUM,
    SQUARED_NORM,
    STEP,
    rate_input,
    root,
)
from engine.training.train_state import FlatGroup

if TYPE_CHECKING:
    from engine.execution.native.loop import Loop


@dataclass(frozen=True)
class StepInputs:
    """Inputs of one training step.

    Attributes:
        rows: the examples of the batch.
        step: number of steps before this one.
        epoch: counted from 1.
        rates: the learning rate of each parameter group.
        momentum: the momentum that the schedule sets, or None.
        averaging: rate of the weight average; None if it is not updated.
    """

    rows: Array
    step: int
    epoch: int
    rates: Sequence[float]
    momentum: float | None = None
    averaging: float | None = None


@dataclass(frozen=True)
class StepBatch:
    """Inputs of consecutive steps on batches of equal size.

    Attributes:
        first: the inputs of the first step.
        rows: the examples of each batch [steps, rows], int64.
        rates: the learning rates [steps, groups].
        momenta: the momentum of each step that the schedule sets, or None.
        averaging: rates of the weight average, or None.
    """

    first: StepInputs
    rows: Array
    rates: Array
    momenta: Array | None = None
    averaging: Array | None = None


@dataclass(frozen=True)
class SkippedSteps:
    """Losses, loss weights and norms of the steps before the last one of a call."""

    losses: Sequence[float]
    weights: Sequence[float]
    norms: Callable[[int], dict[str, float]]


@dataclass
class StepResult:
    """The result of one training step: losses and metric statistics, norms, whether the update was applied, and the
    captured gradients.
    """

    losses: LossTally
    norms: dict[str, float] = field(default_factory=dict)
    finite: bool = True
    gradients: dict[str, Array] = field(default_factory=dict)

    @property
    def loss(self) -> float:
        """The loss over the batch, before the step."""
        return self.losses.value


@dataclass
class LossTally:
    """A weighted sum of batch losses; weights are rows, weights of targets, or 1 where losses are sums.

    The uncertainty is that of ggml_opt_result_loss: the standard deviation of the batch losses, for a mean
    divided by the root of their number; NaN below two batches.
    """

    summed: bool = False
    total: float = 0.0
    weight: float = 0.0
    batches: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, loss: float, weight: float) -> None:
        """Add the loss of a batch; a batch of weight 0, whose loss is 0 / 0, is ignored."""
        if not weight:
            return
        self.total += loss * weight
        self.weight += weight
        self.batches += 1
        before = loss - self.mean
        self.mean += before / self.batches
        self.squares += before * (loss - self.mean)

    def merge(self, other: LossTally) -> None:
        """Add the batches of another tally."""
        if not other.batches:
            return
        batches, distance = self.batches + other.batches, other.mean - self.mean
        self.squares += other.squares + distance * distance * self.batches * other.batches / batches
        self.mean += distance * other.batches / batches
        self.total, self.weight, self.batches = self.total + other.total, self.weight + other.weight, batches

    def extend(self, losses: Sequence[float], weights: Sequence[float]) -> None:
        """Add batches one after another, bit for bit as `merge` adds a tally of each."""
        total, weight, batches, mean, squares = self.total, self.weight, self.batches, self.mean, self.squares
        for loss, own in zip(losses, weights, strict=True):
            if own:
                distance = loss - mean
                squares += loss * (loss - loss) + distance * distance * batches / (batches + 1)
                batches += 1
                mean += distance / batches
                total += loss * own
                weight += own
        self.total, self.weight, self.batches, self.mean, self.squares = total, weight, batches, mean, squares

    @property
    def value(self) -> float:
        """The loss over all rows; NaN without rows."""
        if self.summed:
            return self.total
        return self.total / self.weight if self.weight else math.nan

    @property
    def uncertainty(self) -> float:
        """The uncertainty of the loss."""
        if self.batches < 2:
            return math.nan
        variance = self.squares / (self.batches - 1)
        if not self.summed:
            variance /= self.batches
        return math.sqrt(variance) if variance >= 0 else variance

    def to_json(self) -> dict[str, Any]:
        """Return plain data; floats are hexadecimal text, which is exact."""
        return {name: value.hex() if isinstance(value, float) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` returned.

        Raises:
            KeyError, TypeError, ValueError, OverflowError: the document is incomplete or damaged.
        """
        floats = {name: float.fromhex(document[name]) for name in ("total", "weight", "mean", "squares")}
        batches = document["batches"]
        if type(batches) is not int or batches < 0:
            raise ValueError(f"{str(batches)[:40]!r} is no count of batches")
        return cls(bool(document["summed"]), batches=batches, **floats)


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric row of a fit. `seq` counts from 1 without gaps; `step` and `epoch` count from 1."""

    seq: int
    step: int
    epoch: int
    split: str
    values: Mapping[str, float]

    def to_json(self) -> str:
        """Return the row as clients get it: a non-finite number is null, and listed under `nonfinite`."""
        values = {name: value if math.isfinite(value) else None for name, value in self.values.items()}
        nonfinite = {name: _nonfinite(value) for name, value in self.values.items() if not math.isfinite(value)}
        row = {"seq": self.seq, "step": self.step, "epoch": self.epoch, "split": self.split}
        return json.dumps({**row, "values": values, "nonfinite": nonfinite}, separators=(",", ":"), allow_nan=False)


def _nonfinite(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


MAX_STEPS_PER_CALL = 4096
"""Maximum number of steps in one call."""
LOGGED_NORMS = 32
"""Maximum number of norms that are kept for each step of a call."""


@dataclass(frozen=True)
class MultiStepResult:
    """Outputs of the steps of one call.

    Attributes:
        losses: of each step.
        weights: those of the losses, if they differ.
        squared_norms: of the gradients of each step [steps], by the end of their name; "" of all together.
    """

    losses: Sequence[float]
    weights: Sequence[float] | None
    squared_norms: Mapping[str, Array]

    def norms(self, index: int) -> dict[str, float]:
        """Return the norms of a step as its metric row has them."""
        named = ((f"grad_norm/{of}" if of else "grad_norm", norms) for of, norms in self.squared_norms.items())
        return {name: root(norms[index].item()) for name, norms in named}

    def first_nonfinite(self) -> int | None:
        """Return the index of the first step whose loss or norm is not finite, or None."""
        norms = self.squared_norms[""].tolist() if "" in self.squared_norms else self.losses
        if all(map(math.isfinite, self.losses)) and all(map(math.isfinite, norms)):
            return None
        return int(np.argmin(np.isfinite(self.losses) & np.isfinite(norms)))


class MultiStep:
    """Runs the plan of a whole step in a loop, on rows that lie in memory."""

    def __init__(self, loop: Loop) -> None:
        """Use a loop whose plan is a whole training step."""
        self._loop = loop

    @classmethod
    def of(cls, executor: NumpyExecutor, source: Source) -> Self | None:
        """Return a runner of an executor's plan, or None where steps or rows need Python."""
        segment = executor.whole
        blocks = {name: source.blocks(name) for name in source.inputs}
        if segment is None or any(name not in executor.inputs for name in blocks):
            return None
        from engine.execution.native.executor import NativeExecutor  # imports numba
        from engine.execution.native.loop import Blocks, Loop, LoopTables

        assert isinstance(executor, NativeExecutor)
        rows = {}
        for name, found in blocks.items():
            if found is None or found[0].dtype != executor.inputs[name].dtype:
                return None
            data, first, count = found
            step = data.strides[0] if data.ndim and len(data) else 0
            rows[name] = Blocks(data, data.ctypes.data + first * step, step, count * step)
        fed = [name for name in executor.inputs if name not in rows]
        norms = [name for name in executor.outputs if name.startswith(SQUARED_NORM)]
        if len(norms) > 1 + LOGGED_NORMS:
            norms = [name for name in norms if name == SQUARED_NORM]
        logged = [name for name in (LOSS, LOSS_WEIGHT) if name in executor.outputs] + norms
        until = FINITE if FINITE in executor.outputs else None
        return cls(Loop(executor, segment, LoopTables(rows, fed, logged, until), MAX_STEPS_PER_CALL))

    def run(self, source: Source, batch: StepBatch, seed: int) -> MultiStepResult:
        """Run the steps, until one is not finite where the plan reports that; return the outputs of each."""
        loop, steps = self._loop, len(batch.rows)
        first = batch.first.step
        count = np.arange(first, first + steps)
        given: dict[str, Any] = {STEP: count, MOMENTUM: batch.momenta, AVERAGING: batch.averaging}
        given.update({rate_input(group): batch.rates[:, group] for group in range(batch.rates.shape[1])})
        for name, table in loop.fed.items():
            if name == KEY:
                table[:steps, 0], table[:steps, 1] = seed, count
            else:
                table[:steps] = given[name]
        numbers = np.ascontiguousarray(source.row_of(batch.rows.reshape(-1)), INT64).reshape(batch.rows.shape)
        done = loop.run(numbers)
        norms = {
            name.removeprefix(SQUARED_NORM): table[:done].reshape(done)
            for name, table in loop.logged.items()
            if name.startswith(SQUARED_NORM)
        }
        return MultiStepResult(self._listed(LOSS, done) or [], self._listed(LOSS_WEIGHT, done), norms)

    def _listed(self, name: str, done: int) -> list[float] | None:
        table: Array | None = self._loop.logged.get(name)
        return None if table is None else table[:done].reshape(done).tolist()


NEVER = sys.maxsize


@dataclass(frozen=True, slots=True)
class CapturedGradient:
    """The gradient of the loss with respect to the parameter `name`, at the parameters after `step` steps.

    `array` has the parameter's shape and dtype; it is before clipping and noise, and without the loss scale.
    """

    step: int
    name: str
    array: Array


class GradientCapture:
    """Selects the steps at which gradients are captured, and the parameters."""

    def __init__(self, record: GradientRecord | None, trained: Iterable[str]) -> None:
        """Capture gradients of trained parameters as the record says; without a record none."""
        self.names = () if record is None else record.names(trained)
        self._steps = sorted(record.steps) if record is not None and self.names else []
        self._every = record.every_steps if record is not None and self.names else None

    def next(self, step: int) -> int:
        """Return the first number of steps, from `step` on, after which gradients are captured, or `NEVER`."""
        place = bisect_left(self._steps, step)
        listed = self._steps[place] if place < len(self._steps) else NEVER
        return listed if self._every is None else min(listed, -(-step // self._every) * self._every)

    def wanted(self, step: int) -> tuple[str, ...]:
        """Return the parameters whose gradients are captured after `step` steps."""
        return self.names if self.next(step) == step else ()


def extract_gradients(
    flat: FlatGroup, vector: Array, names: Iterable[str], divisor: float = 1.0, scale: float = 1.0
) -> dict[str, Array]:
    """Copy gradients of some parameters out of a vector of sums, divided as the step that uses it divides."""
    with np.errstate(all="ignore"):
        mean = vector if divisor == 1.0 else vector / vector.dtype.type(divisor)
        plain = mean if scale == 1.0 else (mean * np.float64(1.0 / scale)).astype(vector.dtype)
    views = flat.views(plain)
    return {name: views[name].copy() for name in names if name in views}
