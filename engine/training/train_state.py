"""The state of a model in training: parameters in flat vectors, optimizer slots, buffers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from engine.core.dtypes import DEFAULT_FLOAT, FLOAT64, INT64, DType, is_float
from engine.core.errors import AttributeValueError, CheckpointError
from engine.core.value import Array, Shape, Spec, Value
from engine.data.checkpoint import AVERAGE, BUFFER, Checkpoint
from engine.graph.definition import Definition, StateSpec
from engine.nn.initializers import initialize
from engine.ops.optimizer.lazy import RowLayout
from engine.ops.shape.shape import reshape, slice
from engine.optim.groups import ParameterGroups, matches
from engine.optim.optimizer import Optimizer
from engine.training.recipe.options import Freeze, Precision, master_dtype
from engine.training.recipe.recipe import Recipe

ALIGNMENT = 64
PARTS = 8
LOSS_SCALE, GOOD_STEPS = "loss_scale", "good_steps"
SCALE, SHIFT = "scale", "shift"
"""Prefixes of the arrays that scale a normalised target back to the units of the data."""
VECTOR = "vector:"
"""Prefix of the names of vectors of parameters."""
SLOT = "slot:"
"""Prefix of the names of optimizer slots, so that none equals the name of another array."""


def slot_array(slot: str, stepped: str) -> str:
    """Return the name of the array that holds an optimizer's `slot` of the vector or parameter `stepped`."""
    return f"{SLOT}{slot}:{stepped}"


@dataclass(frozen=True, slots=True)
class FlatGroup:
    """Trained parameters that one vector holds, as FSDP's FlatParameter; each starts at a cache line.

    `group` is the index of their parameter group; `freeze` says in which epochs (from 1) they keep their values.
    """

    name: str
    dtype: DType
    group: int
    freeze: tuple[Freeze, ...]
    shapes: Mapping[str, Shape]
    offsets: Mapping[str, int]
    size: int

    @property
    def spec(self) -> Spec:
        """Shape and dtype of the vector."""
        return Spec((self.size,), self.dtype)

    @property
    def layout(self) -> RowLayout:
        """Where the rows of the parameters lie in the vector."""
        return RowLayout.of([self.shapes[name] for name in self.offsets], [*self.offsets.values()])

    def moves(self, epoch: int) -> bool:
        """Return whether the parameters are trained in `epoch`, counted from 1."""
        return not any(rule.holds(epoch) for rule in self.freeze)

    def views(self, vector: Array) -> dict[str, Array]:
        """Return each parameter as a view of `vector`."""
        return {n: vector[o : o + math.prod(self.shapes[n])].reshape(self.shapes[n]) for n, o in self.offsets.items()}

    def values(self, vector: Value) -> dict[str, Value]:
        """Return each parameter as a Value sliced from the Value `vector`."""
        return {
            name: reshape(
                slice(vector, start=offset, stop=offset + math.prod(self.shapes[name])), shape=self.shapes[name]
            )
            for name, offset in self.offsets.items()
        }


def layout(
    parameters: Mapping[str, StateSpec],
    groups: ParameterGroups | None = None,
    freeze: Sequence[Freeze] = (),
    separate: Mapping[str, int] = MappingProxyType({}),
) -> tuple[FlatGroup, ...]:
    """Return the vectors of parameters: one for those of one dtype that one group steps in the same epochs.

    Parameters with different numbers in `separate` (0 if absent) never share a vector.
    """
    alike: dict[tuple[int, DType, int, tuple[Freeze, ...]], dict[str, Shape]] = {}
    for name, spec in parameters.items():
        group = 0 if groups is None else groups.group_of(name, spec.shape)
        rules = tuple(rule for rule in freeze if matches(name, rule.patterns))
        part = separate.get(name, 0)
        alike.setdefault((part, spec.dtype, group, rules), {})[name] = spec.shape
    flat_groups: list[FlatGroup] = []
    for (_, dtype, group, rules), shapes in sorted(alike.items(), key=lambda item: item[0][0]):
        earlier = sum(flat.dtype == dtype for flat in flat_groups)
        name = f"{VECTOR}{dtype.name}" + (f":{earlier}" if earlier else "")
        step, end, offsets = ALIGNMENT // dtype.itemsize, 0, {}
        for parameter, shape in shapes.items():
            offsets[parameter] = end
            end += -(-math.prod(shape) // step) * step
        # The shards of a vector, for up to PARTS threads, start at cache lines too.
        end = -(-end // (step * PARTS)) * step * PARTS
        flat_groups.append(FlatGroup(name, dtype, group, rules, shapes, offsets, end))
    return tuple(flat_groups)


def _slot_specs(flat_groups: Iterable[FlatGroup], groups: ParameterGroups | None) -> dict[str, dict[str, Spec]]:
    """Return the slots of each vector that is stepped as a whole, else of each parameter by its name."""
    specs: dict[str, dict[str, Spec]] = {}
    if groups is None:
        return specs
    for flat in flat_groups:
        optimizer = groups.groups[flat.group].optimizer
        if optimizer.by_rows:
            specs[flat.name] = optimizer.slots(flat.spec)
        else:
            specs.update({name: optimizer.slots(Spec(shape, flat.dtype)) for name, shape in flat.shapes.items()})
    return specs


def at_precision(definition: Definition, precision: Precision) -> Definition:
    """Return the definition with default floats (float32) replaced by the master type of `precision`."""
    dtype = master_dtype(precision)
    if dtype == DEFAULT_FLOAT:
        return definition

    def wide(kept: DType) -> DType:
        return dtype if kept == DEFAULT_FLOAT else kept

    return replace(
        definition,
        inputs={name: replace(spec, dtype=wide(spec.dtype)) for name, spec in definition.inputs.items()},
        parameters={name: replace(spec, dtype=wide(spec.dtype)) for name, spec in definition.parameters.items()},
        buffers={name: replace(spec, dtype=wide(spec.dtype)) for name, spec in definition.buffers.items()},
        constants={name: array.astype(wide(array.dtype)) for name, array in definition.constants.items()},
    )


@dataclass(frozen=True, slots=True)
class StateOptions:
    """What a model in training has beside parameters, buffers and optimizer slots.

    Attributes:
        freeze: in which epochs some parameters keep their values.
        averaged: whether there is an average of the weights.
        scaled: whether the loss is scaled.
        separate: numbers of trained parameters; those of different numbers can be stepped independently.
        units: the shape of a row of each normalised target, whose inverse scaling is part of the model.
    """

    freeze: Sequence[Freeze] = ()
    averaged: bool = False
    scaled: bool = False
    separate: Mapping[str, int] = field(default_factory=dict)
    units: Mapping[str, Shape] = field(default_factory=dict)

    @classmethod
    def of(cls, recipe: Recipe, units: Mapping[str, Shape]) -> StateOptions:
        """Return the options of a fit."""
        return cls(recipe.freeze, recipe.average is not None, recipe.scaled, units=units)


class StateLayout:
    """The names and specs of the arrays of a model in training; it holds no memory.

    A model with an average has a second array for each vector of parameters and each floating buffer; one with a scaled
    loss has the scale and the count of finite steps since its last change.
    """

    def __init__(
        self,
        definition: Definition,
        trained: Iterable[str],
        groups: ParameterGroups | None,
        options: StateOptions = StateOptions(),
    ) -> None:
        """Lay out the arrays.

        Args:
            definition: the graph.
            trained: names of the parameters that an optimizer steps; the others keep their values.
            groups: the optimizers, which determine the slots; None for a model without optimizer.
            options: the arrays beside them.
        """
        self.units = tuple(options.units)
        self.definition = definition
        self.groups = groups
        trained = {n for n in trained if groups is None or not groups.frozen(n, definition.parameters[n].shape)}
        self.flat_groups = layout(
            {n: s for n, s in definition.parameters.items() if n in trained}, groups, options.freeze, options.separate
        )
        self.slots = _slot_specs(self.flat_groups, groups)
        self.specs = {flat.name: flat.spec for flat in self.flat_groups}
        for stepped, slots in self.slots.items():
            self.specs.update({slot_array(slot, stepped): spec for slot, spec in slots.items()})
        for name, state in definition.parameters.items():
            if name not in trained:
                self.specs[f"parameter:{name}"] = Spec(state.shape, state.dtype)
        for name, state in definition.buffers.items():
            self.specs[f"buffer:{name}"] = Spec(state.shape, state.dtype)
        moving = [
            *(flat.name for flat in self.flat_groups),
            *(f"buffer:{n}" for n, s in definition.buffers.items() if is_float(s.dtype)),
        ]
        self.averages = {name: f"average:{name}" for name in moving} if options.averaged else {}
        self.specs.update({average: self.specs[name] for name, average in self.averages.items()})
        if options.scaled:
            self.specs.update({LOSS_SCALE: Spec((), FLOAT64), GOOD_STEPS: Spec((), INT64)})
        for name, shape in options.units.items():
            self.specs.update({f"{end}:{name}": Spec(shape, FLOAT64) for end in (SCALE, SHIFT)})

    def optimizer(self, flat: FlatGroup) -> Optimizer:
        """Return the optimizer of a vector."""
        assert self.groups is not None
        return self.groups.groups[flat.group].optimizer

    def stepped_by(self, groups: ParameterGroups) -> StateLayout:
        """Return the same arrays under optimizers with other options.

        Raises:
            AttributeValueError: an optimizer would need other slots.
        """
        for flat in self.flat_groups:
            optimizer = groups.groups[flat.group].optimizer
            if _slot_specs([flat], groups) != _slot_specs([flat], self.groups):
                detail = f"{optimizer.kind} would need other slots with these options"
                raise AttributeValueError(f"{detail}; set them when the optimizer is created")
        changed = copy(self)
        changed.groups = groups
        return changed

    def values(
        self, flat_groups: Iterable[FlatGroup] = ()
    ) -> tuple[dict[str, Value], dict[str, Value], dict[str, Value]]:
        """Return leaves for all arrays, and the parameters and buffers sliced from them; call it while tracing.

        The leaves of `flat_groups` require gradients.
        """
        wanted = {flat.name for flat in flat_groups}
        leaves = {n: Value(s.shape, s.dtype, None, name=n, requires_grad=n in wanted) for n, s in self.specs.items()}
        parameters = {n: leaves[f"parameter:{n}"] for n in self.definition.parameters if f"parameter:{n}" in leaves}
        for flat in self.flat_groups:
            parameters.update(flat.values(leaves[flat.name]))
        buffers = {name: leaves[f"buffer:{name}"] for name in self.definition.buffers}
        return leaves, parameters, buffers


class TrainState(StateLayout):
    """The arrays of a model in training. Plans work on `arrays`; `parameters` and `buffers` are views of them."""

    def __init__(
        self,
        definition: Definition,
        trained: Iterable[str],
        groups: ParameterGroups | None,
        seed: int | None,
        options: StateOptions = StateOptions(),
    ) -> None:
        """Allocate and initialise every array (see `StateLayout` for the other arguments).

        `seed` determines the initial values; None leaves zeros, for a checkpoint to replace.
        """
        super().__init__(definition, trained, groups, options)
        self.arrays = {name: np.zeros(spec.shape, spec.dtype) for name, spec in self.specs.items()}
        windows = self._windows(self.arrays)
        self.parameters = {name: windows[name] for name in definition.parameters}
        self.buffers = {name: self.arrays[f"buffer:{name}"] for name in definition.buffers}
        if seed is None:
            return
        for specs, arrays in ((definition.parameters, self.parameters), (definition.buffers, self.buffers)):
            for name, spec in specs.items():
                arrays[name][...] = initialize(spec.init, name, spec.shape, spec.dtype, seed)

    @property
    def average_arrays(self) -> dict[str, Array]:
        """The arrays, with each average in place of the array that it averages."""
        return {**self.arrays, **{name: self.arrays[average] for name, average in self.averages.items()}}

    def named_arrays(self, *, averaged: bool = False) -> dict[str, Array]:
        """Return views of parameters and buffers by name; with `averaged` views of their averages."""
        windows = self._windows(self.average_arrays if averaged else self.arrays)
        arrays = self.average_arrays if averaged else self.arrays
        named = {name: windows[name] for name in self.definition.parameters}
        return {**named, **{name: arrays[f"buffer:{name}"] for name in self.definition.buffers}}

    @property
    def learned(self) -> list[str]:
        """The names of the arrays that predictions depend on and training changes."""
        buffers = [f"buffer:{name}" for name in self.buffers]
        return [*(flat.name for flat in self.flat_groups), *buffers, *self.averages.values()]

    def snapshot(self, *, averaged: bool = False) -> Checkpoint:
        """Copy everything into a checkpoint; a slot as long as a vector becomes one array for each parameter.

        `averaged` says whether the averages have weights yet.
        """
        return Checkpoint(
            {name: array.copy() for name, array in self.parameters.items()},
            {name: array.copy() for name, array in self.buffers.items()},
            {name: array.copy() for name, array in self._slot_views().items()},
            {name: array.copy() for name, array in self._state_views(averaged=averaged).items()},
        )

    def restore(self, checkpoint: Checkpoint, *, optimizer: bool = True, averaged: bool = False) -> None:
        """Copy a checkpoint's arrays in; names and shapes must be this model's.

        Args:
            checkpoint: a snapshot; it may hold more.
            optimizer: whether to restore optimizer state and loss scale.
            averaged: whether to restore averages.

        Raises:
            CheckpointError: an array is missing or has another shape; nothing has been changed.
        """
        # A file of plain tensors, such as PyTorch's, does not distinguish buffers from parameters.
        buffers = {**checkpoint.parameters, **checkpoint.buffers}
        wanted = [(self.parameters, checkpoint.parameters, "parameter"), (self.buffers, buffers, "buffer")]
        if optimizer:
            wanted.append((self._slot_views(), checkpoint.optimizer, "optimizer state"))
            wanted.append((self._state_views(averaged=averaged), checkpoint.state, "state"))
        for targets, sources, what in wanted:
            for name, target in targets.items():
                source = sources.get(name)
                if source is None:
                    raise CheckpointError(f"the checkpoint has no {what} {name!r}")
                if source.shape != target.shape:
                    shapes = f"{list(source.shape)}, the graph's {list(target.shape)}"
                    raise CheckpointError(f"the checkpoint's {what} {name!r} has shape {shapes}")
        for targets, sources, _ in wanted:
            for name, target in targets.items():
                target[...] = sources[name]

    def _windows(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        windows = {n: arrays[f"parameter:{n}"] for n in self.definition.parameters if f"parameter:{n}" in arrays}
        for flat in self.flat_groups:
            windows.update(flat.views(arrays[flat.name]))
        return windows

    def _slot_views(self) -> dict[str, Array]:
        views: dict[str, Array] = {}
        flat_groups = {flat.name: flat for flat in self.flat_groups}
        for stepped, slots in self.slots.items():
            flat = flat_groups.get(stepped)
            for slot, spec in slots.items():
                array = self.arrays[slot_array(slot, stepped)]
                if flat is not None and spec.shape == (flat.size,):
                    views.update({f"{slot}/{name}": view for name, view in flat.views(array).items()})
                else:
                    views[f"{slot}/{stepped}"] = array
        return views

    def _state_views(self, *, averaged: bool) -> dict[str, Array]:
        """Return the averages by parameter and buffer, and the loss scale."""
        views = {name: self.arrays[name] for name in (LOSS_SCALE, GOOD_STEPS) if name in self.arrays}
        if averaged and self.averages:
            averages = self.average_arrays
            windows = self._windows(averages)
            views.update({f"{AVERAGE}{name}": windows[name] for flat in self.flat_groups for name in flat.shapes})
            floating = [name for name in self.definition.buffers if f"buffer:{name}" in self.averages]
            views.update({f"{AVERAGE}{BUFFER}{name}": averages[f"buffer:{name}"] for name in floating})
        return views
