"""The memory of a model in training: parameters in flat vectors, optimizer slots beside them, buffers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from engine.checkpoint import Checkpoint
from engine.dtypes import DEFAULT_FLOAT, DType, dtype_of
from engine.errors import CheckpointError
from engine.graph.definition import Definition, StateSpec
from engine.initializers import initialize
from engine.ops.shape import reshape, slice
from engine.optim import Optimizer
from engine.value import Array, Shape, Spec, Value

ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Flat:
    """How the trained parameters of one dtype lie in one vector: each starts at a cache line."""

    dtype: DType
    shapes: Mapping[str, Shape]
    offsets: Mapping[str, int]
    size: int

    @property
    def name(self) -> str:
        """The name of the vector among the states of a plan."""
        return f"vector:{self.dtype.name}"

    @property
    def spec(self) -> Spec:
        """Shape and dtype of the vector."""
        return Spec((self.size,), self.dtype)

    def views(self, vector: Array) -> dict[str, Array]:
        """Return each parameter as a window on `vector`."""
        return {n: vector[o : o + math.prod(self.shapes[n])].reshape(self.shapes[n]) for n, o in self.offsets.items()}

    def values(self, vector: Value) -> dict[str, Value]:
        """Return each parameter as a Value cut out of the Value `vector`."""
        return {
            name: reshape(
                slice(vector, start=offset, stop=offset + math.prod(self.shapes[name])), shape=self.shapes[name]
            )
            for name, offset in self.offsets.items()
        }


def lay_out(parameters: Mapping[str, StateSpec]) -> tuple[Flat, ...]:
    """Lay parameters out, one vector a dtype."""
    flats = []
    for dtype in dict.fromkeys(spec.dtype for spec in parameters.values()):
        shapes = {name: spec.shape for name, spec in parameters.items() if spec.dtype == dtype}
        step, end, offsets = ALIGNMENT // dtype.itemsize, 0, {}
        for name, shape in shapes.items():
            offsets[name] = end
            end += -(-math.prod(shape) // step) * step
        flats.append(Flat(dtype, shapes, offsets, end))
    return tuple(flats)


def _slot_specs(flats: Iterable[Flat], optimizer: Optimizer | None) -> dict[str, dict[str, Spec]]:
    """Return the slots of whatever is stepped by itself: whole vectors, or each parameter by its name."""
    if optimizer is None:
        return {}
    if optimizer.elementwise:
        return {flat.name: optimizer.slots(flat.spec) for flat in flats}
    return {n: optimizer.slots(Spec(shape, flat.dtype)) for flat in flats for n, shape in flat.shapes.items()}


def at_precision(definition: Definition, precision: str) -> Definition:
    """Return the definition with every default float (float32) replaced by `precision`."""
    dtype = dtype_of(precision)
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


class Form:
    """Which arrays a model in training has, and which of them its parameters and buffers are; no memory yet."""

    def __init__(self, definition: Definition, trained: Iterable[str], optimizer: Optimizer | None) -> None:
        """Lay the arrays out.

        Args:
            definition: the graph.
            trained: names of the parameters that an optimizer moves; the others keep their value.
            optimizer: what needs slots beside the trained parameters, or None.
        """
        self.definition = definition
        trained = set(trained)
        self.flats = lay_out({n: s for n, s in definition.parameters.items() if n in trained})
        self.slots = _slot_specs(self.flats, optimizer)
        self.specs = {flat.name: flat.spec for flat in self.flats}
        for stepped, slots in self.slots.items():
            self.specs.update({f"{slot}:{stepped}": spec for slot, spec in slots.items()})
        for name, state in definition.parameters.items():
            if name not in trained:
                self.specs[f"parameter:{name}"] = Spec(state.shape, state.dtype)
        for name, state in definition.buffers.items():
            self.specs[f"buffer:{name}"] = Spec(state.shape, state.dtype)

    def values(self) -> tuple[dict[str, Value], dict[str, Value], dict[str, Value]]:
        """Return leaves for all arrays, and the parameters and buffers cut out of them; call it while tracing."""
        trained = {flat.name for flat in self.flats}
        leaves = {n: Value(s.shape, s.dtype, None, name=n, requires_grad=n in trained) for n, s in self.specs.items()}
        parameters = {n: leaves[f"parameter:{n}"] for n in self.definition.parameters if f"parameter:{n}" in leaves}
        for flat in self.flats:
            parameters.update(flat.values(leaves[flat.name]))
        buffers = {name: leaves[f"buffer:{name}"] for name in self.definition.buffers}
        return leaves, parameters, buffers


class Model(Form):
    """The arrays of a model. `arrays` are what plans work on; `parameters` and `buffers` are named windows on them."""

    def __init__(self, definition: Definition, trained: Iterable[str], optimizer: Optimizer | None, seed: int) -> None:
        """Lay out and initialise every array; `seed` is where the first values come from (see `Form` for the rest)."""
        super().__init__(definition, trained, optimizer)
        self.arrays = {name: np.zeros(spec.shape, spec.dtype) for name, spec in self.specs.items()}
        windows = {n: self.arrays[f"parameter:{n}"] for n in definition.parameters if f"parameter:{n}" in self.arrays}
        for flat in self.flats:
            windows.update(flat.views(self.arrays[flat.name]))
        self.parameters = {name: windows[name] for name in definition.parameters}
        self.buffers = {name: self.arrays[f"buffer:{name}"] for name in definition.buffers}
        self._initialize(seed)

    def _initialize(self, seed: int) -> None:
        for specs, arrays in ((self.definition.parameters, self.parameters), (self.definition.buffers, self.buffers)):
            for name, spec in specs.items():
                arrays[name][...] = initialize(spec.init, name, spec.shape, spec.dtype, seed)

    def snapshot(self) -> Checkpoint:
        """Copy everything into a checkpoint; slots as long as a vector are cut into one array a parameter."""
        return Checkpoint(
            {name: array.copy() for name, array in self.parameters.items()},
            {name: array.copy() for name, array in self.buffers.items()},
            {name: array.copy() for name, array in self._slot_views().items()},
        )

    def restore(self, checkpoint: Checkpoint, *, optimizer: bool = True) -> None:
        """Copy a checkpoint's arrays in; names and shapes must be this model's.

        Raises:
            CheckpointError: something is missing or does not fit; nothing has been changed then.
        """
        wanted = [(self.parameters, checkpoint.parameters, "parameter"), (self.buffers, checkpoint.buffers, "buffer")]
        if optimizer:
            wanted.append((self._slot_views(), checkpoint.optimizer, "optimizer state"))
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

    def _slot_views(self) -> dict[str, Array]:
        views: dict[str, Array] = {}
        flats = {flat.name: flat for flat in self.flats}
        for stepped, slots in self.slots.items():
            flat = flats.get(stepped)
            for slot, spec in slots.items():
                array = self.arrays[f"{slot}:{stepped}"]
                if flat is not None and spec.shape == (flat.size,):
                    views.update({f"{slot}/{name}": view for name, view in flat.views(array).items()})
                else:
                    views[f"{slot}/{stepped}"] = array
        return views
