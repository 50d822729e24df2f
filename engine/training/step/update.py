"""The second half of a training step: from gradients to parameters, optimizer state, averages and loss scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from engine.core.dtypes import FLOAT64, INT64, DType
from engine.core.value import Value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import eq, ge, isfinite, logical_and, logical_not, lt, where
from engine.ops.optimizer.lazy import RowLayout
from engine.ops.reduce.norms import sum_of_squares
from engine.ops.reduce.reduce import all
from engine.ops.shape.shape import pack
from engine.optim.optimizer import ONE_PARAMETER, Transform
from engine.optim.transforms.clipping import Clip, add_noise_to_gradients, clip_jointly, clip_per_parameter
from engine.optim.transforms.link import cast_like
from engine.training.recipe.recipe import Recipe
from engine.training.step.gradient import pack_gradients
from engine.training.step.names import AVERAGING, CLIPPED, FINITE, MOMENTUM, SQUARED_NORM, STEP, rate_input
from engine.training.train_state import GOOD_STEPS, LOSS_SCALE, FlatGroup, StateLayout, slot_array

LARGEST_SCALE = 3e38


def unscale(gradient: Value, leaves: Mapping[str, Value]) -> Value:
    """Return a gradient without the scale of the loss."""
    return cast_like(gradient * (1.0 / leaves[LOSS_SCALE]), gradient) if LOSS_SCALE in leaves else gradient


@dataclass
class Update:
    """The update of a step during tracing.

    Attributes:
        model: the arrays it works on.
        recipe: clipping, noise, and whether steps that are not finite are skipped.
        leaves: a Value for each array.
        averaging: whether the weight average is updated.
        tells_clipping: whether to output that a limit has changed a gradient.
        inputs: inputs of the plan.
        outputs: squared norms of the gradients, and whether the step was applied.
        updates: the new value of each array that changes.
    """

    model: StateLayout
    recipe: Recipe
    leaves: Mapping[str, Value]
    averaging: bool
    tells_clipping: bool = False
    inputs: dict[str, Value] = field(default_factory=dict)
    outputs: dict[str, Value] = field(default_factory=dict)
    updates: dict[str, Value] = field(default_factory=dict)

    def step(
        self,
        flat_groups: Sequence[FlatGroup],
        gradients: Mapping[str, Value],
        vectors: Mapping[str, Value],
        parameters: Mapping[str, Value],
        buffers: Mapping[str, Value],
        key: Value,
        loss: Value | None = None,
    ) -> None:
        """Trace the update of the vectors `flat_groups`.

        Args:
            flat_groups: the vectors that are trained.
            gradients: by parameter.
            vectors: the same gradients in vectors.
            parameters: the vectors of parameters to step from.
            buffers: running statistics after the step.
            key: the random key of noise.
            loss: must be finite too if steps that are not finite are skipped.
        """
        gradients, vectors = self._unscale(flat_groups, gradients, vectors)
        self._report(gradients, vectors)
        finite = self._finite(vectors, loss)
        vectors = self._clip(flat_groups, gradients, vectors, key)
        for flat in flat_groups:
            self._step_vector(flat, vectors[flat.name], parameters[flat.name])
        self.updates.update({f"buffer:{name}": value for name, value in buffers.items()})
        if finite is not None:
            self._skip_unless(finite)
        if self.averaging:
            self._average()

    def _input(self, name: str, dtype: DType = FLOAT64) -> Value:
        return self.inputs.setdefault(name, Value((), dtype, None, name=name.strip(":")))

    def _unscale(
        self, flat_groups: Sequence[FlatGroup], gradients: Mapping[str, Value], vectors: Mapping[str, Value]
    ) -> tuple[Mapping[str, Value], Mapping[str, Value]]:
        if LOSS_SCALE not in self.leaves:
            return gradients, vectors
        vectors = {name: unscale(vector, self.leaves) for name, vector in vectors.items()}
        return self._cut(flat_groups, gradients, vectors), vectors

    @staticmethod
    def _cut(
        flat_groups: Sequence[FlatGroup], gradients: Mapping[str, Value], vectors: Mapping[str, Value]
    ) -> dict[str, Value]:
        """Return the gradients as slices of vectors."""
        found: dict[str, Value] = {}
        for flat in flat_groups:
            found.update({n: g for n, g in flat.values(vectors[flat.name]).items() if n in gradients})
        return found

    def _report(self, gradients: Mapping[str, Value], vectors: Mapping[str, Value]) -> None:
        """Output squared norms of the gradients: of all together, and of each parameter's if recorded."""
        squares = [sum_of_squares(vector) for vector in vectors.values()]
        if not squares:
            return
        total = squares[0]
        for other in squares[1:]:
            total = total + other
        self.outputs[SQUARED_NORM] = total
        if self.recipe.record.gradient_norms:
            self.outputs.update({SQUARED_NORM + name: sum_of_squares(g) for name, g in gradients.items()})

    def _finite(self, vectors: Mapping[str, Value], loss: Value | None) -> Value | None:
        """Output whether the step is applied, if it may be skipped."""
        if not self.recipe.guarded:
            return None
        finite: Value | None = None
        for vector in (
            *vectors.values(),
            *([loss] if loss is not None and self.recipe.nonfinite != "continue" else []),
        ):
            fine = all(isfinite(vector))
            finite = fine if finite is None else logical_and(finite, fine)
        if finite is not None:
            self.outputs[FINITE] = finite
        return finite

    def _clip(
        self, flat_groups: Sequence[FlatGroup], gradients: Mapping[str, Value], vectors: Mapping[str, Value], key: Value
    ) -> Mapping[str, Value]:
        clip, before = self.recipe.clip, vectors
        if clip.adaptive is not None or clip.per_parameter is not None:
            parameters: dict[str, Value] = {}
            for flat in flat_groups:
                parameters.update(flat.values(self.leaves[flat.name]))
            gradients = clip_per_parameter(gradients, parameters, clip)
            vectors = {flat.name: pack_gradients(flat, gradients) for flat in flat_groups}
        vectors = clip_jointly(vectors, clip)
        if self.tells_clipping and clip != Clip(nonfinite=clip.nonfinite):
            same = [all(eq(vectors[name], vector)) for name, vector in before.items()]
            self.outputs[CLIPPED] = logical_not(reduce(logical_and, same))
        if self.recipe.noise is not None:
            gradients = self._cut(flat_groups, gradients, vectors)
            noisy = add_noise_to_gradients(gradients, key, self._input(STEP, INT64), self.recipe.noise)
            vectors = {flat.name: pack_gradients(flat, noisy) for flat in flat_groups}
        return vectors

    def _step_vector(self, flat: FlatGroup, gradient: Value, vector: Value) -> None:
        """Step a vector of parameters: as a whole, or parameter by parameter if these are no sets of rows to it."""
        optimizer = self.model.optimizer(flat)
        assert isinstance(optimizer, Transform)
        lr = self._input(rate_input(flat.group))
        momentum = self._input(MOMENTUM) if self.recipe.schedule.cycles_momentum else None

        def step(name: str, gradient: Value, parameter: Value, layout: RowLayout = ONE_PARAMETER) -> Value:
            slots = {slot: self.leaves[slot_array(slot, name)] for slot in self.model.slots[name]}
            stepped, changed = optimizer.update(gradient, parameter, slots, lr, momentum, layout)
            self.updates.update({slot_array(slot, name): value for slot, value in changed.items()})
            return stepped

        if optimizer.by_rows:
            self.updates[flat.name] = step(flat.name, gradient, vector, flat.layout)
            return
        gradients, parameters = flat.values(gradient), flat.values(vector)
        pieces = [step(name, gradients[name], parameters[name]) for name in flat.shapes]
        self.updates[flat.name] = pack(*pieces, offsets=tuple(flat.offsets.values()), size=flat.size)

    def _skip_unless(self, finite: Value) -> None:
        """Keep every array if the step is not finite, and update the loss scale."""
        self.updates = {name: where(finite, value, self.leaves[name]) for name, value in self.updates.items()}
        if LOSS_SCALE not in self.leaves:
            return
        scaling, scale = self.recipe.loss_scaling, self.leaves[LOSS_SCALE]
        good = self.leaves[GOOD_STEPS] + 1
        ripe = ge(good, scaling.growth_interval)
        grown = scale * scaling.growth_factor
        grown = where(logical_and(ripe, lt(grown, LARGEST_SCALE)), grown, scale)
        self.updates[LOSS_SCALE] = where(finite, grown, scale * scaling.backoff_factor)
        self.updates[GOOD_STEPS] = cast(where(finite, where(ripe, 0, good), 0), dtype=INT64)

    def _average(self) -> None:
        rate = self._input(AVERAGING)
        for name, average in self.model.averages.items():
            new, old = self.updates.get(name, self.leaves[name]), self.leaves[average]
            # At rate 1 the average is the weights themselves, to the bit.
            self.updates[average] = cast_like(where(eq(rate, 1.0), new, old + (new - old) * rate), old)
