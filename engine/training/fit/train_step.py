"""One training step: over the whole batch at once, or in parts whose gradients add up, on one rank or several."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ParamSpec, Protocol

import numpy as np

from engine.core.value import Array
from engine.data.source import Source
from engine.execution.native import most_shards
from engine.execution.plan import NumpyExecutor, Plan
from engine.graph.trace import KEY
from engine.optim.lbfgs import LBFGS
from engine.training.execution import Execution
from engine.training.fit.steps import (
    LossTally,
    MultiStep,
    SkippedSteps,
    StepBatch,
    StepInputs,
    StepResult,
    extract_gradients,
)
from engine.training.metrics.tally import Tally
from engine.training.recipe.recipe import Recipe
from engine.training.step.names import (
    AVERAGING,
    BATCH_LOSS,
    FINITE,
    GRADIENT,
    LOSS,
    LOSS_WEIGHT,
    MOMENTUM,
    SHARE,
    STEP,
    WEIGHT,
    norms_of,
    rate_input,
)
from engine.training.step.plan_cache import Executors
from engine.training.step.plans import plan_gradients, plan_part, plan_training, plan_update
from engine.training.step.reduction import Reduction
from engine.training.train_state import LOSS_SCALE, FlatGroup, TrainState, slot_array

P = ParamSpec("P")

PART_BITS = 40
"""The random key of a part of a batch holds its index above this many bits of the step."""


class Rows(Protocol):
    """A source of batches."""

    def gather(self, examples: Array, into: Mapping[str, Array]) -> None:
        """Copy examples into the input of each name."""


class TrainStep:
    """Runs training steps on a model's arrays."""

    def __init__(
        self,
        model: TrainState,
        recipe: Recipe,
        dims: Callable[[int], dict[str, int]],
        reduction: Reduction,
        execution: Execution,
    ) -> None:
        """Prepare to step; plans are made for each batch size that occurs.

        Args:
            model: the arrays to train.
            recipe: optimizer, precision and limits.
            dims: returns the extents of the graph at a number of rows.
            reduction: how the loss reduces its rows.
            execution: the resolved executor and threads, and the ranks, each of which computes a share of each batch.
        """
        self._model = model
        self._recipe = recipe
        self._dims = dims
        self._reduction: Reduction = reduction
        self._collective = execution.collective
        self._most_shards = most_shards(execution.executor)
        self._runners: dict[NumpyExecutor, MultiStep | None] = {}
        self._sums = (
            {GRADIENT + flat.name: np.zeros(flat.size, flat.dtype) for flat in model.flat_groups}
            if self._sums_needed
            else {}
        )
        self._executors = Executors({**model.arrays, **self._sums}, execution.executor, execution.threads)
        self.metrics = tuple(metric for metric in recipe.metrics if metric.every_step)
        self.tally = Tally(self.metrics)

    @property
    def _sums_needed(self) -> bool:
        """Whether gradients are ever accumulated over parts of a batch."""
        micro = self._recipe.micro_batch_size
        return (
            self._recipe.closure or self._collective.size > 1 or (micro is not None and micro < self._recipe.batch_size)
        )

    def step(self, rows: Rows, inputs: StepInputs, captured: Sequence[str] = ()) -> StepResult:
        """Run one step; afterwards `tally` holds the statistics of the metrics.

        Args:
            rows: the source of the batch.
            inputs: rows, rates and counters of the step.
            captured: the parameters whose gradients are returned; they do not change a bit of the step.
        """
        self.tally.clear()
        if self._recipe.closure:
            return self._minimize(rows, inputs, captured)
        if self._is_parted(inputs):
            return self._step_in_parts(rows, inputs, captured)
        return self._step_whole(rows, inputs, captured)

    def bind(self, inputs: StepInputs, captured: Sequence[str] = ()) -> None:
        """Bind the plans of a step on as many rows, which that step would bind; nothing is computed."""
        if not (self._recipe.closure or self._is_parted(inputs)):
            self._whole_executor(inputs, len(inputs.rows))
            if names := self._trained_names(inputs, captured):
                self._gradient_executor(inputs, names)
            return
        for _, part in self._parts(inputs.rows):
            self._part_executor(inputs, len(part))
        if not self._recipe.closure:
            self._update_executor(inputs)

    def _is_parted(self, inputs: StepInputs) -> bool:
        micro = self._recipe.micro_batch_size
        return self._collective.size > 1 or (micro is not None and len(inputs.rows) > micro)

    def _step_whole(self, rows: Rows, inputs: StepInputs, captured: Sequence[str]) -> StepResult:
        executor = self._whole_executor(inputs, len(inputs.rows))
        self._feed_inputs(executor, inputs)
        rows.gather(inputs.rows, executor.inputs)
        gradients = self._gradients(executor, inputs, captured)
        executor.run()
        result = self._result(executor, len(inputs.rows))
        result.gradients = gradients
        return result

    def _gradients(self, fed: NumpyExecutor, inputs: StepInputs, names: Sequence[str]) -> dict[str, Array]:
        """Return gradients at the batch that a whole step has as input, before the step.

        They have a plan of their own: as outputs of the step's plan they would change its fusion, and so its rounding.
        """
        names = self._trained_names(inputs, names)
        if not names:
            return {}
        executor = self._gradient_executor(inputs, names)
        for name, array in executor.inputs.items():
            array[...] = fed.inputs[name]
        executor.run()
        return {name: executor.outputs[GRADIENT + name].copy() for name in names}

    def _gradient_executor(self, inputs: StepInputs, names: Sequence[str]) -> NumpyExecutor:
        flat_groups, count = self._trained_groups(inputs), len(inputs.rows)
        return self._executor(
            ("gradients", count, flat_groups),
            plan_gradients,
            self._model,
            self._dims(count),
            self._recipe,
            flat_groups,
            names,
            most_shards=self._most_shards,
        )

    def _result(self, executor: NumpyExecutor, count: int) -> StepResult:
        self.tally.add(executor.outputs)
        losses = LossTally(self._reduction == "sum")
        losses.add(executor.outputs[LOSS].item(), self._weight(executor, count))
        return self._mark_nonfinite(StepResult(losses, _norms(executor), _finite(executor)))

    def _mark_nonfinite(self, result: StepResult) -> StepResult:
        """Mark a step as not finite if its loss or norm is not and the recipe checks them."""
        if self._recipe.watched:
            numbers = (result.loss, result.norms.get("grad_norm", 0.0))
            result.finite = result.finite and all(map(math.isfinite, numbers))
        return result

    def _whole_executor(self, inputs: StepInputs, count: int) -> NumpyExecutor:
        flat_groups, averaging = self._trained_groups(inputs), inputs.averaging is not None
        return self._executor(
            ("whole", count, flat_groups, averaging),
            plan_training,
            self._model,
            self._dims(count),
            self._recipe,
            flat_groups,
            averaging=averaging,
            most_shards=self._most_shards,
        )

    def steps(self, source: Source, batch: StepBatch) -> tuple[SkippedSteps, StepResult] | None:
        """Run steps on whole batches in one call, until one is not finite; None if the executor cannot do that.

        With a recipe that is `watched` such a step is found after the call: the arrays are those after all steps.

        Returns:
            The losses of the steps before the last one, or before the first that is not finite, and the result of that
            step.
        """
        count = batch.rows.shape[1]
        executor = self._whole_executor(batch.first, count)
        if executor not in self._runners:
            self._runners[executor] = MultiStep.of(executor, source)
        runner = self._runners[executor]
        if runner is None:
            return None
        taken = runner.run(source, batch, self._recipe.seed)
        losses, weights = taken.losses, taken.weights
        if weights is None:
            weights = [1.0 if self._reduction == "sum" else float(count)] * len(losses)
        self.tally.clear()
        bad = taken.first_nonfinite() if self._recipe.watched else None
        if bad is None:
            return SkippedSteps(losses[:-1], weights[:-1], taken.norms), self._result(executor, count)
        tally = LossTally(self._reduction == "sum")
        tally.add(losses[bad], weights[bad])
        norms = {name: norm for name, norm in taken.norms(bad).items() if name == "grad_norm"}
        return SkippedSteps(losses[:bad], weights[:bad], taken.norms), StepResult(tally, norms, finite=False)

    def result_of(self, passed: SkippedSteps, index: int) -> StepResult:
        """Return the result of a step before the last one of a call; no metrics are known of it."""
        losses = LossTally(self._reduction == "sum")
        losses.add(passed.losses[index], passed.weights[index])
        return StepResult(losses, passed.norms(index))

    def _step_in_parts(self, rows: Rows, inputs: StepInputs, captured: Sequence[str]) -> StepResult:
        losses = self._sum_gradients(rows, inputs)
        gradients = self._extract_gradients(self._trained_groups(inputs), captured, losses.weight / len(inputs.rows))
        executor = self._update_executor(inputs)
        self._feed_inputs(executor, inputs)
        for name, value in ((WEIGHT, losses.weight / len(inputs.rows)), (BATCH_LOSS, losses.value)):
            if name in executor.inputs:
                executor.inputs[name][...] = value
        executor.run()
        return self._mark_nonfinite(StepResult(losses, _norms(executor), _finite(executor), gradients))

    def _update_executor(self, inputs: StepInputs) -> NumpyExecutor:
        flat_groups, averaging = self._trained_groups(inputs), inputs.averaging is not None
        return self._executor(
            ("update", flat_groups, averaging),
            plan_update,
            self._model,
            self._recipe,
            flat_groups,
            self._reduction,
            averaging=averaging,
        )

    def _extract_gradients(
        self, flat_groups: Sequence[FlatGroup], names: Sequence[str], weight: float
    ) -> dict[str, Array]:
        """Copy gradients out of the sums over all parts of a batch."""
        found: dict[str, Array] = {}
        divisor = weight if self._reduction == "weighted" else 1.0
        for flat in flat_groups if names else ():
            found.update(
                extract_gradients(flat, self._sums[GRADIENT + flat.name], names, divisor, self.loss_scale or 1.0)
            )
        return found

    def _minimize(self, rows: Rows, inputs: StepInputs, captured: Sequence[str]) -> StepResult:
        """Step by an optimizer that evaluates the loss itself, on the only vector of parameters."""
        (flat,) = self._model.flat_groups
        optimizer = self._model.optimizer(flat)
        assert isinstance(optimizer, LBFGS)
        first: list[StepResult] = []
        statistics: dict[str, Array] = {}
        gradient = self._sums[GRADIENT + flat.name]

        def evaluate(_: Array) -> tuple[float, Array]:
            self.tally.clear()
            losses = self._sum_gradients(rows, inputs)
            if not statistics:
                statistics.update(self.tally.state())
            if self._reduction == "weighted":
                np.divide(gradient, losses.weight / len(inputs.rows), out=gradient)
            if not first:
                norms, kept = self._gradient_norms(flat, gradient), extract_gradients(flat, gradient, captured)
                first.append(StepResult(losses, norms, gradients=kept))
            return losses.value, gradient

        state = {slot: self._model.arrays[slot_array(slot, flat.name)] for slot in self._model.slots[flat.name]}
        done = optimizer.step(evaluate, self._model.arrays[flat.name], state, inputs.rates[flat.group])
        first[0].finite = done.stopped != "nonfinite"
        if self._model.units:  # the loss in units of the data is that of the same evaluation
            self.tally.clear()
            self.tally.add(statistics)
        return self._mark_nonfinite(first[0])

    def _sum_gradients(self, rows: Rows, inputs: StepInputs) -> LossTally:
        """Sum the gradients of all parts of a batch over all ranks; each part is weighted by its share of the rows."""
        flat_groups, count = self._trained_groups(inputs), len(inputs.rows)
        for array in self._sums.values():
            array.fill(0)
        losses = LossTally(self._reduction == "sum")
        for place, part in self._parts(inputs.rows):
            executor = self._part_executor(inputs, len(part))
            executor.inputs[KEY][...] = (self._recipe.seed, inputs.step + (place << PART_BITS))
            executor.inputs[SHARE][...] = 1.0 if self._reduction == "sum" else 1.0 / count
            rows.gather(part, executor.inputs)
            executor.run()
            self.tally.add(executor.outputs)
            losses.add(executor.outputs[LOSS].item(), self._weight(executor, len(part)))
        return self._reduce_over_ranks(flat_groups, losses, count) if self._collective.size > 1 else losses

    def _part_executor(self, inputs: StepInputs, count: int) -> NumpyExecutor:
        flat_groups = self._trained_groups(inputs)
        return self._executor(
            ("part", count, flat_groups),
            plan_part,
            self._model,
            self._dims(count),
            self._recipe,
            flat_groups,
            self._reduction,
            count,
            most_shards=self._most_shards,
        )

    def _parts(self, rows: Array) -> Iterator[tuple[int, Array]]:
        """Yield this rank's parts of a batch, each with its index among those of all ranks."""
        size = self._collective.size
        shares = [len(rows) // size + (rank < len(rows) % size) for rank in range(size)]
        place = start = 0
        for rank, share in enumerate(shares):
            micro = min(self._recipe.micro_batch_size or share, share)
            for offset in range(0, share, micro) if share else ():
                if rank == self._collective.rank:
                    yield place, rows[start + offset : start + min(offset + micro, share)]
                place += 1
            start += share

    def _reduce_over_ranks(self, flat_groups: Sequence[FlatGroup], losses: LossTally, rows: int) -> LossTally:
        """Sum gradients over the ranks, average running statistics over those with rows, and merge tallies."""
        collective, ranks = self._collective, min(self._collective.size, rows)
        for flat in flat_groups:
            collective.allreduce_(self._sums[GRADIENT + flat.name])
        received = [_read_state(payload) for payload in collective.gather(_state_bytes(losses, self.tally.state()))]
        self._reduce_buffers(collective.rank < ranks, ranks)
        self.tally.clear()
        joined = LossTally(losses.summed)
        for losses_of_rank, state in received:
            joined.merge(losses_of_rank)
            if state:
                self.tally.add(state)
        return joined

    def _reduce_buffers(self, ran: bool, ranks: int) -> None:
        """Average floating buffers over the ranks that had rows, by dtype; integer buffers are those of rank 0."""
        buffers = [self._model.arrays[f"buffer:{name}"] for name in self._model.definition.buffers]
        types = [np.dtype(np.int64) if array.dtype.kind == "b" else array.dtype for array in buffers]
        for dtype in dict.fromkeys(types):
            floating = dtype.kind not in "iu"
            alike = [array for array, summed in zip(buffers, types, strict=True) if summed == dtype]
            total = np.concatenate([array.reshape(-1).astype(dtype) for array in alike])
            if not (ran if floating else self._collective.rank == 0):
                total.fill(0)
            self._collective.allreduce_(total)
            joined = total / ranks if floating else total
            ends = np.cumsum([array.size for array in alike])
            for array, part in zip(alike, np.split(joined, ends[:-1]), strict=True):
                array[...] = part.reshape(array.shape)

    def _feed_inputs(self, executor: NumpyExecutor, inputs: StepInputs) -> None:
        """Set the inputs that do not come from the batch."""
        executor.inputs[KEY][...] = (self._recipe.seed, inputs.step)
        values: dict[str, float | None] = {STEP: inputs.step, MOMENTUM: inputs.momentum, AVERAGING: inputs.averaging}
        values.update({rate_input(group): rate for group, rate in enumerate(inputs.rates)})
        for name, value in values.items():
            if name in executor.inputs:
                executor.inputs[name][...] = value

    def _trained_names(self, inputs: StepInputs, names: Sequence[str]) -> list[str]:
        """Return those of the named parameters that the step trains."""
        return [name for flat in self._trained_groups(inputs) for name in flat.shapes if name in names]

    def _trained_groups(self, inputs: StepInputs) -> tuple[FlatGroup, ...]:
        return tuple(flat for flat in self._model.flat_groups if flat.moves(inputs.epoch))

    def _executor(
        self, key: tuple[object, ...], make: Callable[P, Plan], *args: P.args, **kwargs: P.kwargs
    ) -> NumpyExecutor:
        names = tuple(tuple(flat.name for flat in item) if isinstance(item, tuple) else item for item in key)
        return self._executors.of(names, make, *args, **kwargs)

    def _weight(self, executor: NumpyExecutor, rows: int) -> float:
        if self._reduction == "sum":
            return 1.0
        return executor.outputs[LOSS_WEIGHT].item() if LOSS_WEIGHT in executor.outputs else float(rows)

    def _gradient_norms(self, flat: FlatGroup, gradient: Array) -> dict[str, float]:
        """Return the norms of a gradient under their names in metric rows."""
        found = {"grad_norm": norm_of(gradient)}
        if self._recipe.record.gradient_norms:
            found.update({f"grad_norm/{name}": norm_of(view) for name, view in flat.views(gradient).items()})
        return found

    @property
    def loss_scale(self) -> float | None:
        """The factor of the next loss, if the loss is scaled."""
        return self._model.arrays[LOSS_SCALE].item() if LOSS_SCALE in self._model.arrays else None


def _norms(executor: NumpyExecutor) -> dict[str, float]:
    return {f"grad_norm/{of}" if of else "grad_norm": norm for of, norm in norms_of(executor.outputs)}


def norm_of(array: Array) -> float:
    """Return the square root of the sum of squares, summed in float64."""
    wide = array.reshape(-1).astype(np.float64)
    return math.sqrt(np.einsum("i,i->", wide, wide).item())


def _finite(executor: NumpyExecutor) -> bool:
    return bool(executor.outputs[FINITE]) if FINITE in executor.outputs else True


def _state_bytes(losses: LossTally, state: Mapping[str, Array]) -> bytes:
    """Encode the tallies of a rank: a line of JSON, then the bytes of the arrays."""
    arrays = [(name, array.dtype.name, array.shape) for name, array in state.items()]
    header = json.dumps({"losses": losses.to_json(), "arrays": arrays})
    return b"".join([header.encode(), b"\n", *(array.tobytes() for array in state.values())])


def _read_state(payload: bytes) -> tuple[LossTally, dict[str, Array]]:
    header, _, body = payload.partition(b"\n")
    document, state, start = json.loads(header), {}, 0
    for name, dtype, shape in document["arrays"]:
        size = math.prod(shape)
        array = np.frombuffer(body, dtype, size, start) if size else np.empty(0, dtype)
        state[name] = array.reshape(shape).copy()
        start += array.nbytes
    return LossTally.from_json(document["losses"]), state
