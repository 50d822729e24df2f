"""The arrays of a session: the model, the sums of gradients beside it, the plans that work on both; and snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from engine.core.dtypes import is_float
from engine.core.errors import CheckpointError
from engine.core.fingerprint import fingerprint
from engine.core.value import Array
from engine.data.checkpoint import Checkpoint
from engine.execution.plan import NumpyExecutor
from engine.graph.definition import Definition
from engine.session.results import Gradients
from engine.training.execution import Execution
from engine.training.recipe.recipe import Recipe
from engine.training.step.names import GRADIENT, NEW, SQUARED_NORM, root
from engine.training.step.plan_cache import Executors
from engine.training.train_state import LOSS_SCALE, VECTOR, FlatGroup, StateOptions, TrainState, slot_array

PLANS = 16
"""Executors that are kept, each with its memory: those of the usual batches, and a few more."""


@dataclass(frozen=True, slots=True)
class PassEffects:
    """Outputs of a plan that update the state of a session.

    Attributes:
        new: states, each with what it becomes.
        squares: squared norms of gradients by parameter or vector.
        limits: whether parameters are among the states.
    """

    new: Sequence[tuple[Array, Array]]
    squares: Sequence[tuple[str, Array]]
    limits: bool

    @classmethod
    def of(cls, executor: NumpyExecutor, states: Mapping[str, Array]) -> Self:
        """Look through the outputs of a plan."""
        outputs = executor.outputs.items()
        new = {name.removeprefix(NEW): array for name, array in outputs if name.startswith(NEW)}
        squares = [(name.removeprefix(SQUARED_NORM), array) for name, array in outputs if name.startswith(SQUARED_NORM)]
        limits = any(state.startswith(VECTOR) for state in new)
        return cls([(states[state], array) for state, array in new.items()], squares, limits)


class SessionState:
    """Arrays, and which gradients there are.

    Attributes:
        model: parameters, buffers and optimizer state.
        apart: numbers of parameters; those of different numbers lie in different vectors.
        origin: those that it began with.
        sums: the sums of gradients, one vector for each vector of parameters; as the loss is, they are scaled.
        reached: the parameters that have a gradient.
        squares: the squared norms of gradients, by parameter and by vector.
        trained: number of parameters that can have one.
    """

    def __init__(self, definition: Definition, recipe: Recipe, execution: Execution, apart: Mapping[str, int]) -> None:
        """Make the first values, and no gradients."""
        self._made_from = (definition, recipe, execution)
        self.apart = dict(apart)
        self.origin: Mapping[str, int] = self.apart
        trained = [n for n, s in definition.parameters.items() if is_float(s.dtype) and not s.frozen]
        self.model = TrainState(
            definition, trained, recipe.groups, recipe.seed, StateOptions(scaled=recipe.scaled, separate=apart)
        )
        if recipe.scaled:
            self.model.arrays[LOSS_SCALE][...] = recipe.loss_scaling.initial
        self.sums = {GRADIENT + flat.name: np.zeros(flat.size, flat.dtype) for flat in self.model.flat_groups}
        self.arrays = {**self.model.arrays, **self.sums}
        self.reached: set[str] = set()
        self.squares: dict[str, float] = {}
        self.trained = sum(len(flat.shapes) for flat in self.model.flat_groups)
        self._gradients: Gradients | None = None
        self._effects: WeakKeyDictionary[NumpyExecutor, PassEffects] = WeakKeyDictionary()
        self.executors = Executors(self.arrays, execution.executor, execution.threads, PLANS)

    @property
    def scale(self) -> float:
        """Loss scale."""
        return self.model.arrays[LOSS_SCALE].item() if LOSS_SCALE in self.model.arrays else 1.0

    def trains(self, name: str) -> bool:
        """Return whether a parameter can have a gradient: it is not frozen."""
        return any(name in flat.shapes for flat in self.model.flat_groups)

    def flats_of(self, names: Set[str]) -> tuple[FlatGroup, ...]:
        """Return the vectors in which some of the parameters lie."""
        return tuple([flat for flat in self.model.flat_groups if not names.isdisjoint(flat.shapes)])

    def take_over(self, executor: NumpyExecutor) -> bool:
        """Copy the states that a run has computed; return whether parameters are among them."""
        effects = self.effects(executor)
        for state, output in effects.new:
            np.copyto(state, output)
        return effects.limits

    def reach(self, names: Iterable[str], executor: NumpyExecutor) -> None:
        """Note that parameters have gradients now, and the squared norms that a run has put out."""
        self._gradients = None
        self.reached.update(names)
        self.squares.update({name: output.item() for name, output in self.effects(executor).squares})

    def effects(self, executor: NumpyExecutor) -> PassEffects:
        """Return what among the outputs of a plan is of the states."""
        if executor not in self._effects:
            self._effects[executor] = PassEffects.of(executor, self.arrays)
        return self._effects[executor]

    def gradients(self) -> Gradients:
        """Return the norms of the gradients that there are."""
        if self._gradients is None:
            total = sum([self.squares.get(flat.name, 0.0) for flat in self.model.flat_groups])
            norms = {n: root(self.squares[n]) for n in self.model.parameters if n in self.reached}
            self._gradients = Gradients(root(total), norms)
        return self._gradients

    def gradient(self, name: str) -> Array | None:
        """Return the gradient of a parameter, None if there is none; unscaled it is a window on the sums."""
        if name not in self.reached:
            return None
        view = self.raw_gradient(name)
        if self.scale == 1.0:
            return view
        with np.errstate(all="ignore"):
            plain: Array = (view * np.float64(1.0 / self.scale)).astype(view.dtype)
        return plain

    def set_gradient(self, name: str, array: Array | None) -> None:
        """Set the gradient of a parameter to an array of its shape, or remove it (None)."""
        self._gradients = None
        view, (flat,) = self.raw_gradient(name), self.flats_of({name})
        with np.errstate(all="ignore"):
            view[...] = 0 if array is None else array * self.scale
            plain = flat.views(self.sums[GRADIENT + flat.name].astype(np.float64) / self.scale)
            squares = {n: float(np.square(gradient).sum()) for n, gradient in plain.items()}
        self.squares.update({**squares, flat.name: sum(squares.values())})
        if array is None:
            self.reached.discard(name)
        else:
            self.reached.add(name)

    def clear(self, *, forget: bool) -> None:
        """Set the sums to 0; with `forget` there are no gradients then."""
        self._gradients = None
        for array in self.sums.values():
            array.fill(0)
        self.squares = dict.fromkeys(self.squares, 0.0)
        if forget:
            self.reached.clear()

    def clear_momenta(self) -> None:
        """Set all optimizer state to what it was at first."""
        for stepped, slots in self.model.slots.items():
            for slot in slots:
                self.model.arrays[slot_array(slot, stepped)].fill(0)

    def split(self, names: Iterable[str]) -> SessionState:
        """Return the same arrays in other vectors: `names` apart from those that they lie together with now."""
        vectors = {name: place for place, flat in enumerate(self.model.flat_groups) for name in flat.shapes}
        apart, names = dict(self.apart), set(names)
        first = 1 + max(apart.values(), default=0)
        apart.update({name: first + vectors[name] for name in names})
        return self.with_layout(apart)

    def with_layout(self, apart: Mapping[str, int]) -> SessionState:
        """Return the same arrays in the vectors that `apart` asks for."""
        other = SessionState(*self._made_from, apart)
        other.origin = self.origin
        for name, array in other.model.arrays.items():
            if name in self.model.arrays and array.shape == self.model.arrays[name].shape:
                array[...] = self.model.arrays[name]
        for flat in other.model.flat_groups:
            for source, target in self._pair_arrays(other, flat):
                target[...] = source
        other.reached, other.squares = set(self.reached), dict(self.squares)
        for flat in other.model.flat_groups:
            other.squares[flat.name] = sum(self.squares.get(name, 0.0) for name in flat.shapes)
        return other

    def _pair_arrays(self, other: SessionState, flat: FlatGroup) -> Iterable[tuple[Array, Array]]:
        """Yield each array that belongs to a vector of `other`, and before it what it holds here."""
        owners = {name: owner for owner in self.model.flat_groups for name in owner.shapes}
        owner = owners[next(iter(flat.shapes))]
        slots = other.model.slots.get(flat.name, {})
        names = [flat.name, GRADIENT + flat.name, *(slot_array(slot, flat.name) for slot in slots)]
        for name in names:
            target, prefix = other.arrays[name], name.removesuffix(flat.name)
            if target.shape == (flat.size,):
                windows = flat.views(target)
                yield from ((owners[n].views(self.arrays[prefix + owners[n].name])[n], w) for n, w in windows.items())
            else:
                yield self.arrays[prefix + owner.name], target

    def raw_gradient(self, name: str) -> Array:
        """Return the window on the sums that belongs to a parameter; it is scaled as the loss is."""
        (flat,) = self.flats_of({name})
        return flat.views(self.sums[GRADIENT + flat.name])[name]


SUM_PREFIX = "gradient/"
"""Prefix of gradient sums in the state of a checkpoint."""
SESSION = "session"
"""Entry of the cursor of a checkpoint that only sessions write."""


@dataclass(slots=True)
class Counters:
    """Counters of a session.

    Attributes:
        seed: seed of random draws, combined with the number of the pass.
        passes: number of forward passes.
        step: number of optimizer steps.
    """

    seed: int
    passes: int = 0
    step: int = 0


def snapshot(work: SessionState, counters: Counters, executor: str) -> Checkpoint:
    """Return a checkpoint of everything that later calls depend on."""
    checkpoint = work.model.snapshot()
    sums = {name: work.raw_gradient(name) for name in sorted(work.reached)}
    checkpoint.state.update({SUM_PREFIX + name: array.copy() for name, array in sums.items()})
    squares = {name: square.hex() for name, square in sorted(work.squares.items())}
    saved = {
        "seed": counters.seed,
        "passes": counters.passes,
        "apart": dict(sorted(work.apart.items())),
        "squares": squares,
    }
    checkpoint.cursor = {"step": counters.step, SESSION: saved}
    checkpoint.meta = {"graph": work.model.definition.digest, "fingerprint": fingerprint(executor)}
    return checkpoint


def restore(checkpoint: Checkpoint, work: SessionState, counters: Counters) -> tuple[SessionState, Counters]:
    """Return the state and counters of a checkpoint; the given ones are not changed.

    A checkpoint of a fit has no gradients, and no optimizer state for parameters that its losses do not depend on:
    these are reset, and the random draws continue.

    Raises:
        CheckpointError: it belongs to another graph or optimizer, or is damaged.
    """
    if checkpoint.meta.get("graph") != work.model.definition.digest:
        raise CheckpointError("the checkpoint belongs to another graph; restore it without optimizer state")
    saved = checkpoint.cursor.get(SESSION)
    if saved is None:
        step = checkpoint.cursor.get("step", 0)
        if type(step) is not int or step < 0:
            raise CheckpointError(f"the checkpoint's cursor is damaged (step {str(step)[:40]!r})")
        fresh = work.with_layout(work.origin)
        fresh.clear_momenta()
        state = {**fresh.model.snapshot().optimizer, **checkpoint.optimizer}
        fresh.model.restore(replace(checkpoint, optimizer=state))
        fresh.clear(forget=True)
        return fresh, replace(counters, step=step)
    seed, passes, step, apart, squares = _read(saved, checkpoint.cursor, work)
    sums = checkpoint.under(SUM_PREFIX)
    for name, array in sums.items():
        shape = work.model.parameters[name].shape if work.trains(name) else None
        if array.shape != shape:
            raise CheckpointError(f"the checkpoint's {SUM_PREFIX}{name} belongs to no parameter of its shape")
    fresh = work.with_layout(apart)
    fresh.model.restore(checkpoint)
    fresh.clear(forget=True)
    for name, array in sums.items():
        fresh.raw_gradient(name)[...] = array
    fresh.reached, fresh.squares = set(sums), squares
    return fresh, Counters(seed, passes, step)


def _read(
    saved: Any, cursor: Mapping[str, Any], work: SessionState
) -> tuple[int, int, int, dict[str, int], dict[str, float]]:
    try:
        counts = [saved["seed"], saved["passes"], cursor["step"], *saved["apart"].values()]
        squares = {name: float.fromhex(text) for name, text in saved["squares"].items()}
        apart = dict(saved["apart"])
        if not all(type(count) is int and count >= 0 for count in counts) or not all(map(work.trains, apart)):
            raise ValueError("a count is none")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CheckpointError(f"the checkpoint's cursor is incomplete ({error})") from error
    return counts[0], counts[1], counts[2], apart, squares


def load_parameters(checkpoint: Checkpoint, work: SessionState) -> None:
    """Load parameters and buffers of a checkpoint, or their averages; reset optimizer and gradients.

    Raises:
        CheckpointError: one is missing or has another shape; then nothing is changed.
    """
    work.model.restore(checkpoint.averaged(), optimizer=False)
    work.clear(forget=True)
    work.clear_momenta()
