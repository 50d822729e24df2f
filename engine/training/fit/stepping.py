"""One training step: over the whole batch at once, or in parts whose gradients add up, on one rank or several."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ParamSpec, Protocol

import numpy as np

from engine.core.value import Array
from engine.data import Source
from engine.execution.native import most_shards
from engine.execution.plan import NumpyExecutor, Plan
from engine.graph.trace import KEY
from engine.optim import LBFGS
from engine.training.collective import Collective
from engine.training.fit.capturing import cut_out
from engine.training.fit.losses import LossTally
from engine.training.fit.running import StepRunner
from engine.training.fit.steps import SkippedSteps, StepBatch, StepInputs, StepResult
from engine.training.metrics import Tally
from engine.training.model import LOSS_SCALE, Flat, Model, slot_array
from engine.training.recipe import Recipe
from engine.training.step.executors import Executors
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
    rate_input,
)
from engine.training.step.norms import norms_of, root
from engine.training.step.plans import plan_gradients, plan_part, plan_training, plan_update
from engine.training.step.reduction import Reduction

P = ParamSpec("P")

PART_BITS = 40
"""The random key of a part of a batch holds its place above so many bits of the step."""


class Rows(Protocol):
    """Where batches come from."""

    def gather(self, examples: Array, into: Mapping[str, Array]) -> None:
        """Copy examples into the input of each name."""


class Stepper:
    """Runs training steps on a model's arrays."""

    def __init__(
        self,
        model: Model,
        recipe: Recipe,
        dims: Callable[[int], dict[str, int]],
        reduction: Reduction,
        collective: Collective,
        executor: str = "numpy",
        threads: int | None = None,
    ) -> None:
        """Prepare to step; plans are made when a batch of a new size comes.

        Args:
            model: what to train.
            recipe: how.
            dims: the extents of the graph at a number of rows.
            reduction: how the loss sums up its rows.
            collective: the way to the other ranks, each of which computes a share of each batch.
            executor: what runs the plans, "numpy" or "native".
            threads: how many may work inside a step.
        """
        self._model = model
        self._recipe = recipe
        self._dims = dims
        self._reduction: Reduction = reduction
        self._collective = collective
        self._most_shards = most_shards(executor)
        self._runners: dict[NumpyExecutor, StepRunner | None] = {}
        self._sums = (
            {GRADIENT + flat.name: np.zeros(flat.size, flat.dtype) for flat in model.flats} if self._adds else {}
        )
        self._executors = Executors({**model.arrays, **self._sums}, executor, threads)
        self.metrics = tuple(metric for metric in recipe.metrics if metric.every_step)
        self.tally = Tally(self.metrics)

    @property
    def _adds(self) -> bool:
        """Whether gradients of parts are ever added up."""
        micro = self._recipe.micro_batch_size
        return (
            self._recipe.closure or self._collective.size > 1 or (micro is not None and micro < self._recipe.batch_size)
        )

    def step(self, rows: Rows, order: StepInputs, captured: Sequence[str] = ()) -> StepResult:
        """Take one step; the statistics of metrics are in `tally` afterwards.

        Args:
            rows: where the batch comes from.
            order: what to do.
            captured: the parameters whose gradients are wanted; the step is the same to the bit without.
        """
        self.tally.clear()
        if self._recipe.closure:
            return self._minimize(rows, order, captured)
        micro = self._recipe.micro_batch_size
        if self._collective.size > 1 or (micro is not None and len(order.rows) > micro):
            return self._in_parts(rows, order, captured)
        return self._whole(rows, order, captured)

    def _whole(self, rows: Rows, order: StepInputs, captured: Sequence[str]) -> StepResult:
        executor = self._whole_executor(order, len(order.rows))
        self._feed(executor, order)
        rows.gather(order.rows, executor.inputs)
        gradients = self._gradients(executor, order, captured)
        executor.run()
        outcome = self._outcome(executor, len(order.rows))
        outcome.gradients = gradients
        return outcome

    def _gradients(self, fed: NumpyExecutor, order: StepInputs, names: Sequence[str]) -> dict[str, Array]:
        """Return gradients at the batch that a whole step is fed with, before it is taken.

        They are computed by themselves: a step whose plan put them out might be fused, and so be rounded, in another
        way.
        """
        flats, count = self._moving(order), len(order.rows)
        names = [name for flat in flats for name in flat.shapes if name in names]
        if not names:
            return {}
        executor = self._executor(
            ("gradients", count, flats),
            plan_gradients,
            self._model,
            self._dims(count),
            self._recipe,
            flats,
            names,
            most_shards=self._most_shards,
        )
        for name, array in executor.inputs.items():
            array[...] = fed.inputs[name]
        executor.run()
        return {name: executor.outputs[GRADIENT + name].copy() for name in names}

    def _outcome(self, executor: NumpyExecutor, count: int) -> StepResult:
        """Return what came of the last run of a whole step."""
        self.tally.add(executor.outputs)
        losses = LossTally(self._reduction == "sum")
        losses.add(executor.outputs[LOSS].item(), self._weight(executor, count))
        return self._watched(StepResult(losses, _norms(executor), _finite(executor)))

    def _watched(self, outcome: StepResult) -> StepResult:
        """Take a loss or a norm that is not finite for a step that is not, if the recipe fails by that."""
        if self._recipe.watched:
            numbers = (outcome.loss, outcome.norms.get("grad_norm", 0.0))
            outcome.finite = outcome.finite and all(map(math.isfinite, numbers))
        return outcome

    def _whole_executor(self, order: StepInputs, count: int) -> NumpyExecutor:
        flats, averaging = self._moving(order), order.averaging is not None
        return self._executor(
            ("whole", count, flats, averaging),
            plan_training,
            self._model,
            self._dims(count),
            self._recipe,
            flats,
            averaging=averaging,
            most_shards=self._most_shards,
        )

    def steps(self, source: Source, orders: StepBatch) -> tuple[SkippedSteps, StepResult] | None:
        """Take steps on whole batches in one call, until one is not finite; None where that cannot be done.

        A recipe that is `watched` finds such a step after the call: the arrays are those after all steps then.

        Returns:
            The losses of all steps but the last, or but the first that is not finite, and what came of that one.
        """
        count = orders.rows.shape[1]
        executor = self._whole_executor(orders.first, count)
        if executor not in self._runners:
            self._runners[executor] = StepRunner.of(executor, source)
        runner = self._runners[executor]
        if runner is None:
            return None
        taken = runner.run(source, orders, self._recipe.seed)
        losses, weights = taken.losses, taken.weights
        if weights is None:
            weights = [1.0 if self._reduction == "sum" else float(count)] * len(losses)
        self.tally.clear()
        bad = taken.first_nonfinite() if self._recipe.watched else None
        if bad is None:
            return SkippedSteps(losses[:-1], weights[:-1]), self._outcome(executor, count)
        tally = LossTally(self._reduction == "sum")
        tally.add(losses[bad], weights[bad])
        norms = {} if taken.squared_norms is None else {"grad_norm": root(taken.squared_norms[bad])}
        return SkippedSteps(losses[:bad], weights[:bad]), StepResult(tally, norms, finite=False)

    def _in_parts(self, rows: Rows, order: StepInputs, captured: Sequence[str]) -> StepResult:
        losses = self._add_up(rows, order)
        flats, averaging = self._moving(order), order.averaging is not None
        gradients = self._cut_out(flats, captured, losses.weight / len(order.rows))
        executor = self._executor(
            ("update", flats, averaging),
            plan_update,
            self._model,
            self._recipe,
            flats,
            self._reduction,
            averaging=averaging,
        )
        self._feed(executor, order)
        for name, value in ((WEIGHT, losses.weight / len(order.rows)), (BATCH_LOSS, losses.value)):
            if name in executor.inputs:
                executor.inputs[name][...] = value
        executor.run()
        return self._watched(StepResult(losses, _norms(executor), _finite(executor), gradients))

    def _cut_out(self, flats: Sequence[Flat], names: Sequence[str], weight: float) -> dict[str, Array]:
        """Copy gradients out of the sums over all parts of a batch."""
        found: dict[str, Array] = {}
        divisor = weight if self._reduction == "weighted" else 1.0
        for flat in flats if names else ():
            found.update(cut_out(flat, self._sums[GRADIENT + flat.name], names, divisor, self.loss_scale or 1.0))
        return found

    def _minimize(self, rows: Rows, order: StepInputs, captured: Sequence[str]) -> StepResult:
        """Let an optimizer that evaluates the loss itself move the one vector of parameters."""
        (flat,) = self._model.flats
        optimizer = self._model.optimizer(flat)
        assert isinstance(optimizer, LBFGS)
        first: list[StepResult] = []
        statistics: dict[str, Array] = {}
        gradient = self._sums[GRADIENT + flat.name]

        def evaluate(_: Array) -> tuple[float, Array]:
            self.tally.clear()
            losses = self._add_up(rows, order)
            if not statistics:
                statistics.update(self.tally.state())
            if self._reduction == "weighted":
                np.divide(gradient, losses.weight / len(order.rows), out=gradient)
            if not first:
                norms, kept = self._lengths(flat, gradient), cut_out(flat, gradient, captured)
                first.append(StepResult(losses, norms, gradients=kept))
            return losses.value, gradient

        state = {slot: self._model.arrays[slot_array(slot, flat.name)] for slot in self._model.slots[flat.name]}
        done = optimizer.step(evaluate, self._model.arrays[flat.name], state, order.rates[flat.group])
        first[0].finite = done.stopped != "nonfinite"
        if self._model.units:  # the loss in units of the data is that of the same evaluation
            self.tally.clear()
            self.tally.add(statistics)
        return self._watched(first[0])

    def _add_up(self, rows: Rows, order: StepInputs) -> LossTally:
        """Add up the gradients of all parts of a batch, on all ranks; the sums are over rows / rows of the batch."""
        flats, count = self._moving(order), len(order.rows)
        for array in self._sums.values():
            array.fill(0)
        losses = LossTally(self._reduction == "sum")
        for place, part in self._parts(order.rows):
            executor = self._executor(
                ("part", len(part), flats),
                plan_part,
                self._model,
                self._dims(len(part)),
                self._recipe,
                flats,
                self._reduction,
                len(part),
                most_shards=self._most_shards,
            )
            executor.inputs[KEY][...] = (self._recipe.seed, order.step + (place << PART_BITS))
            executor.inputs[SHARE][...] = 1.0 if self._reduction == "sum" else 1.0 / count
            rows.gather(part, executor.inputs)
            executor.run()
            self.tally.add(executor.outputs)
            losses.add(executor.outputs[LOSS].item(), self._weight(executor, len(part)))
        return self._over_ranks(flats, losses, count) if self._collective.size > 1 else losses

    def _parts(self, rows: Array) -> Iterator[tuple[int, Array]]:
        """Yield this rank's parts of a batch, each with its place among those of all ranks."""
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

    def _over_ranks(self, flats: Sequence[Flat], losses: LossTally, rows: int) -> LossTally:
        """Sum gradients over the ranks, average running statistics over those that had rows, and join tallies."""
        collective, ranks = self._collective, min(self._collective.size, rows)
        for flat in flats:
            collective.allreduce_(self._sums[GRADIENT + flat.name])
        heard = [_read_state(payload) for payload in collective.gather(_state_bytes(losses, self.tally.state()))]
        self._join_buffers(collective.rank < ranks, ranks)
        self.tally.clear()
        joined = LossTally(losses.summed)
        for told, state in heard:
            joined.merge(told)
            if state:
                self.tally.add(state)
        return joined

    def _join_buffers(self, ran: bool, ranks: int) -> None:
        """Average what is no count over the ranks that had rows, all of a type at once; counts are the first rank's."""
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

    def _feed(self, executor: NumpyExecutor, order: StepInputs) -> None:
        """Fill in what is not of the batch."""
        executor.inputs[KEY][...] = (self._recipe.seed, order.step)
        values: dict[str, float | None] = {STEP: order.step, MOMENTUM: order.momentum, AVERAGING: order.averaging}
        values.update({rate_input(group): rate for group, rate in enumerate(order.rates)})
        for name, value in values.items():
            if name in executor.inputs:
                executor.inputs[name][...] = value

    def _moving(self, order: StepInputs) -> tuple[Flat, ...]:
        return tuple(flat for flat in self._model.flats if flat.moves(order.epoch))

    def _executor(
        self, key: tuple[object, ...], make: Callable[P, Plan], *args: P.args, **kwargs: P.kwargs
    ) -> NumpyExecutor:
        names = tuple(tuple(flat.name for flat in item) if isinstance(item, tuple) else item for item in key)
        return self._executors.of(names, make, *args, **kwargs)

    def _weight(self, executor: NumpyExecutor, rows: int) -> float:
        if self._reduction == "sum":
            return 1.0
        return executor.outputs[LOSS_WEIGHT].item() if LOSS_WEIGHT in executor.outputs else float(rows)

    def _lengths(self, flat: Flat, gradient: Array) -> dict[str, float]:
        """Return the norms of a gradient as metric rows name them."""
        found = {"grad_norm": _length(gradient)}
        if self._recipe.record.gradient_norms:
            found.update({f"grad_norm/{name}": _length(view) for name, view in flat.views(gradient).items()})
        return found

    @property
    def loss_scale(self) -> float | None:
        """What the next loss is multiplied by, if it is scaled."""
        return self._model.arrays[LOSS_SCALE].item() if LOSS_SCALE in self._model.arrays else None


def _norms(executor: NumpyExecutor) -> dict[str, float]:
    return {f"grad_norm/{of}" if of else "grad_norm": norm for of, norm in norms_of(executor.outputs)}


def _length(gradient: Array) -> float:
    wide = gradient.reshape(-1).astype(np.float64)
    return math.sqrt(np.einsum("i,i->", wide, wide).item())


def _finite(executor: NumpyExecutor) -> bool:
    return bool(executor.outputs[FINITE]) if FINITE in executor.outputs else True


def _state_bytes(losses: LossTally, state: Mapping[str, Array]) -> bytes:
    """Write the tallies of a rank for the others: a line of JSON, then the arrays' bytes."""
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
