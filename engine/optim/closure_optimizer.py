"""Optimizers on the tape that evaluate the loss themselves: each step takes a closure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.autograd import tape
from engine.core.dtypes import FLOAT32, FLOAT64, DType
from engine.core.errors import AttributeValueError, CheckpointError
from engine.core.modes import enable_grad, no_grad
from engine.core.value import Array, Spec, Value
from engine.optim.lbfgs import LBFGS, LBFGSStep
from engine.optim.optimizers import CLOSURE_OPTIMIZERS, make_optimizer
from engine.optim.tape_optimizer import named_parameters

Closure = Callable[[], Value]
MASTER = "master"
"""The slot of float16 or bfloat16 parameters with their float32 copy, which keeps small updates."""


@dataclass
class ClosureGroup:
    """All parameters of the optimizer. `lr` may be changed at any time; `initial_lr` is where schedules start."""

    kind: str
    options: dict[str, Any]
    minimizer: LBFGS
    parameters: dict[str, Value]
    lr: float
    initial_lr: float
    slots: dict[str, Array] = field(default_factory=dict)

    @property
    def has_momentum(self) -> bool:
        """Whether a schedule may change the momentum."""
        return self.minimizer.has_momentum

    def set_momentum(self, momentum: float) -> None:
        """Refuse a momentum, which none of these optimizers has."""
        self.minimizer = self.minimizer.with_momentum(momentum)


class ClosureOptimizer:
    """Steps by a closure: `ClosureOptimizer(parameters, "lbfgs", line_search="strong_wolfe")`, then `step(closure)`.

    The closure clears the gradients, computes the loss, calls its `backward` and returns it, as for torch.optim.LBFGS;
    it must compute the same loss each time. All parameters are stepped as one vector: of float64 if one of them is,
    else of float32. A parameter without a gradient has one of zeros.
    """

    def __init__(self, parameters: Mapping[str, Value] | Iterable[Value], kind: str = "lbfgs", **options: Any) -> None:
        """Take the parameters.

        Args:
            parameters: leaves by name, or a list of leaves.
            kind: the optimizer's kind in the catalogue of optimizers.
            options: the optimizer's options.

        Raises:
            AttributeValueError: no parameters, one that occurs twice, groups, or an optimizer that takes no closure.
            GradientError: a parameter is not a leaf.
        """
        given: Any = parameters if isinstance(parameters, Mapping | Value) else list(parameters)
        if isinstance(given, list) and any(isinstance(entry, Mapping) for entry in given):
            raise AttributeValueError(f"{kind} steps all parameters together: give them without groups")
        minimizer = _closure_optimizer({"kind": kind, **options})
        named = named_parameters(given, {})
        self.groups = [ClosureGroup(kind, options, minimizer, named, minimizer.lr, minimizer.lr)]
        self.last_step: LBFGSStep | None = None

    @property
    def parameters(self) -> dict[str, Value]:
        """Every parameter by name."""
        return dict(self.groups[0].parameters)

    def zero_grad(self, *, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or set them to zeros; `step` treats both alike."""
        tape.zero_grad(list(self.parameters.values()), set_to_none=set_to_none)

    def step(self, closure: Closure) -> Value:
        """Step the parameters in place; afterwards `last_step` describes the step.

        Args:
            closure: computes the loss and its gradients at the current parameters; it is called several times.

        Returns:
            The result of the first call of the closure: the loss at the start.
        """
        (group,) = self.groups
        losses: list[Value] = []

        def evaluate(x: Array) -> tuple[float, Array]:
            _place(group.parameters, x)
            with enable_grad():
                loss = closure()
            if not losses:
                losses.append(loss)
            return loss.item(), _gradient(group.parameters, x.dtype)

        x, slots = _start(group)
        try:
            self.last_step = group.minimizer.step(evaluate, x, slots, group.lr)
        finally:
            _place(group.parameters, x)
            if MASTER in slots:
                slots[MASTER][...] = x
            group.slots = slots
        return losses[0]

    def state_dict(self) -> dict[str, Any]:
        """Return slots, learning rate and options: plain data with copies of the arrays."""
        (group,) = self.groups
        return {
            "groups": [
                {
                    "kind": group.kind,
                    "options": dict(group.options),
                    "lr": group.lr,
                    "initial_lr": group.initial_lr,
                    "params": list(group.parameters),
                }
            ],
            "slots": {slot: array.copy() for slot, array in group.slots.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the result of `state_dict`.

        Raises:
            CheckpointError: other parameters or shapes; nothing has been changed.
        """
        (group,), entries = self.groups, state["groups"]
        if [list(entry["params"]) for entry in entries] != [list(group.parameters)]:
            raise CheckpointError("the state holds other parameters than this optimizer")
        (entry,) = entries
        minimizer = _closure_optimizer({"kind": entry["kind"], **entry["options"]})
        slots = _read_slots(state["slots"], _specs(minimizer, group.parameters)) if state["slots"] else {}
        group.kind, group.options, group.minimizer = entry["kind"], dict(entry["options"]), minimizer
        group.lr, group.initial_lr, group.slots = entry["lr"], entry["initial_lr"], slots


def _closure_optimizer(document: Mapping[str, Any]) -> LBFGS:
    made = make_optimizer(document)
    if not isinstance(made, LBFGS):
        kinds = ", ".join(CLOSURE_OPTIMIZERS)
        raise AttributeValueError(
            f"{made.kind} steps by a gradient, not by a closure ({kinds} does): use TapeOptimizer"
        )
    return made


def _dtype(parameters: Mapping[str, Value]) -> DType:
    return FLOAT64 if any(leaf.dtype == FLOAT64 for leaf in parameters.values()) else FLOAT32


def _specs(minimizer: LBFGS, parameters: Mapping[str, Value]) -> dict[str, Spec]:
    vector = Spec((sum(leaf.size for leaf in parameters.values()),), _dtype(parameters))
    narrow = any(leaf.dtype.itemsize < FLOAT32.itemsize for leaf in parameters.values())
    return {**minimizer.slots(vector), **({MASTER: vector} if narrow else {})}


def _start(group: ClosureGroup) -> tuple[Array, dict[str, Array]]:
    """Return the slots and the vector to step from: float32 copies of half type parameters not written to since."""
    dtype = _dtype(group.parameters)
    x = _joined([leaf.numpy() for leaf in group.parameters.values()], dtype)
    specs = _specs(group.minimizer, group.parameters)
    slots = group.slots or {slot: np.zeros(spec.shape, spec.dtype) for slot, spec in specs.items()}
    if MASTER in slots:
        for leaf, piece, kept in _pieces(group.parameters, x, slots[MASTER]):
            if np.array_equal(kept.astype(leaf.dtype), leaf.numpy(), equal_nan=True):
                piece[...] = kept
    return x, slots


def _joined(arrays: list[Array], dtype: DType) -> Array:
    return np.concatenate([array.astype(dtype, copy=False).reshape(-1) for array in arrays])


def _pieces(parameters: Mapping[str, Value], *vectors: Array) -> list[tuple[Any, ...]]:
    """Return each leaf with its views of the vectors, in its shape."""
    found, end = [], 0
    for leaf in parameters.values():
        begin, end = end, end + leaf.size
        found.append((leaf, *(vector[begin:end].reshape(leaf.shape) for vector in vectors)))
    return found


def _place(parameters: Mapping[str, Value], x: Array) -> None:
    """Write a vector to the leaves; leaves that already have the values are not touched."""
    with no_grad():
        for leaf, piece in _pieces(parameters, x):
            array = piece.astype(leaf.dtype)
            if not np.array_equal(array, leaf.numpy(), equal_nan=True):
                leaf.copy_(Value(leaf.shape, leaf.dtype, array))


def _gradient(parameters: Mapping[str, Value], dtype: DType) -> Array:
    return _joined([np.zeros(p.shape, dtype) if p.grad is None else p.grad.numpy() for p in parameters.values()], dtype)


def _read_slots(arrays: Mapping[str, Any], specs: Mapping[str, Spec]) -> dict[str, Array]:
    if set(arrays) != set(specs):
        raise CheckpointError(f"the state holds {sorted(arrays)}, the optimizer needs {sorted(specs)}")
    slots = {slot: np.array(arrays[slot], spec.dtype) for slot, spec in specs.items()}
    for slot, spec in specs.items():
        if slots[slot].shape != spec.shape:
            raise CheckpointError(f"the state {slot!r} has shape {list(slots[slot].shape)}, not {list(spec.shape)}")
    return slots
