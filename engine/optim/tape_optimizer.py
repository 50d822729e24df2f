"""Optimizers on the tape: they hold parameters and slots, and step the parameters in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.autograd import tape
from engine.core.dtypes import FLOAT64, DType, computing_dtype
from engine.core.errors import AttributeValueError, CheckpointError, GradientError, ShapeError, UnknownName, nearest
from engine.core.modes import no_grad
from engine.core.value import Operand, Spec, Value, as_value
from engine.ops.elementwise.casting import cast
from engine.optim.optimizer import Pending, Transform, step_jointly
from engine.optim.optimizers import make_transform

Slots = dict[str, Value]
Parameters = Mapping[str, Value] | Iterable[Value] | Iterable[Mapping[str, Any]]
MASTER = "master"
"""The slot of a float16 or bfloat16 parameter with its float32 copy, which keeps small updates."""


@dataclass
class Group:
    """Parameters with common options. `lr` may be changed at any time; `initial_lr` is where schedules start."""

    kind: str
    options: dict[str, Any]
    transform: Transform
    parameters: dict[str, Value]
    lr: float
    initial_lr: float
    slots: dict[str, Slots] = field(default_factory=dict)

    @property
    def has_momentum(self) -> bool:
        """Whether a schedule may change the momentum."""
        return self.transform.has_momentum

    def set_momentum(self, momentum: float) -> None:
        """Set the momentum of later steps; it becomes an option, and so part of states.

        Raises:
            AttributeValueError: the optimizer has no momentum.
        """
        self.transform = self.transform.with_momentum(momentum)
        self.options = {**self.options, **self.transform.momentum_options}


class TapeOptimizer:
    """An optimizer as an object: `TapeOptimizer(model.parameters(), "adam", lr=1e-3)`, then `step()`.

    A parameter without a gradient is not stepped, and neither its slots nor its step count change; a gradient of zeros
    is a step. Leaves without a name that are passed by name get that name, for `gradients_by_name` and errors.
    """

    def __init__(self, parameters: Parameters, kind: str = "sgd", **options: Any) -> None:
        """Take the parameters.

        Args:
            parameters: leaves by name, a list of leaves, or a list of groups: objects with "params" and the options in
                which they differ, "kind" included.
            kind: the optimizer's kind in the catalogue of optimizers.
            options: the optimizer's options for all groups; `maximize` steps up the gradient.

        Raises:
            AttributeValueError: no parameters, or one that occurs twice.
            GradientError: a parameter is not a leaf.
        """
        self._defaults = {"kind": kind, **options}
        self.groups: list[Group] = []
        given: Any = parameters if isinstance(parameters, Mapping) else list(parameters)
        if not given:
            raise AttributeValueError("optimizer got an empty parameter list")
        if isinstance(given, list) and all(isinstance(entry, Mapping) for entry in given):
            for entry in given:
                self.add_param_group(entry)
        else:
            self.add_param_group({"params": given})

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Add parameters: {"params": leaves, options that differ}."""
        if "params" not in group:
            raise AttributeValueError("a parameter group is an object with 'params' and options")
        options = {**self._defaults, **{key: value for key, value in group.items() if key != "params"}}
        kind = options.pop("kind")
        transform = make_transform({"kind": kind, **options})
        parameters = named_parameters(group["params"], self.parameters)
        for leaf in parameters.values():
            transform.slots(Spec(leaf.shape, computing_dtype(leaf.dtype)))  # some optimizers take matrices only
        if isinstance(group["params"], Mapping):
            for name, leaf in parameters.items():
                leaf.name = leaf.name or name
        self.groups.append(Group(kind, options, transform, parameters, transform.lr, transform.lr))

    @property
    def parameters(self) -> dict[str, Value]:
        """Every parameter by name."""
        return {name: leaf for group in self.groups for name, leaf in group.parameters.items()}

    def zero_grad(self, *, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or set them to zeros, with which `step` does step."""
        tape.zero_grad(list(self.parameters.values()), set_to_none=set_to_none)

    def step(self, gradients: Mapping[str, Operand | None] | None = None) -> None:
        """Step every parameter that has a gradient, in place.

        Args:
            gradients: by name, instead of the `.grad` of the leaves; names of other leaves are ignored.

        Raises:
            UnknownName: no name is that of a parameter.
            GradientError: no parameter has a gradient.
        """
        known = {*self.parameters, *(leaf.name for leaf in self.parameters.values())}
        if gradients and known.isdisjoint(gradients):
            first = next(iter(gradients))
            raise UnknownName(f"no gradient is a parameter's: {first[:64]!r}{nearest(first, self.parameters)}")
        found = {
            name: leaf.grad if gradients is None else self._given(name, leaf, gradients)
            for name, leaf in self.parameters.items()
        }
        if all(gradient is None for gradient in found.values()):
            raise GradientError(
                f"no parameter has a gradient ({', '.join(found)[:64]}): "
                + ("call backward() before step()" if gradients is None else "the gradients given are empty")
            )
        with no_grad():
            for group in self.groups:
                lr = Value((), FLOAT64, np.asarray(group.lr, FLOAT64))
                pending = [
                    _pending(group, name, leaf, gradient)
                    for name, leaf in group.parameters.items()
                    if (gradient := found[name]) is not None
                ]
                for one, (stepped, changed) in zip(pending, step_jointly(group.transform, pending, lr), strict=True):
                    narrow = stepped.dtype != one.leaf.dtype
                    group.slots[one.name] = {**changed, MASTER: stepped} if narrow else changed
                    one.leaf.copy_(stepped)

    def state_dict(self) -> dict[str, Any]:
        """Return slots, learning rates and options: plain data with copies of the arrays."""
        return {
            "groups": [
                {
                    "kind": group.kind,
                    "options": dict(group.options),
                    "lr": group.lr,
                    "initial_lr": group.initial_lr,
                    "params": list(group.parameters),
                }
                for group in self.groups
            ],
            "slots": {
                name: {slot: value.numpy().copy() for slot, value in slots.items()}
                for group in self.groups
                for name, slots in group.slots.items()
            },
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the result of `state_dict`.

        Raises:
            CheckpointError: other groups, parameters or shapes; nothing has been changed.
        """
        groups = state["groups"]
        if [list(entry["params"]) for entry in groups] != [list(group.parameters) for group in self.groups]:
            raise CheckpointError("the state holds other parameter groups than this optimizer")
        loaded = []
        for entry, group in zip(groups, self.groups, strict=True):
            transform = make_transform({"kind": entry["kind"], **entry["options"]})
            slots = {
                name: _read_slots(name, state["slots"][name], transform, leaf)
                for name, leaf in group.parameters.items()
                if name in state["slots"]
            }
            loaded.append((entry, transform, slots))
        for group, (entry, transform, slots) in zip(self.groups, loaded, strict=True):
            group.kind, group.options, group.transform = entry["kind"], dict(entry["options"]), transform
            group.lr, group.initial_lr, group.slots = entry["lr"], entry["initial_lr"], slots

    @staticmethod
    def _given(name: str, leaf: Value, gradients: Mapping[str, Operand | None]) -> Value | None:
        found = gradients.get(name)
        if found is None and leaf.name is not None:
            found = gradients.get(leaf.name)
        return None if found is None else as_value(found)


def _pending(group: Group, name: str, leaf: Value, gradient: Value) -> Pending:
    if gradient.shape != leaf.shape:
        raise ShapeError(f"the gradient of {name!r} has shape {list(gradient.shape)}, the parameter {list(leaf.shape)}")
    wide = computing_dtype(leaf.dtype)
    slots = dict(group.slots.get(name) or _fresh(group.transform, leaf, wide))
    start = _start(leaf, slots, wide)
    gradient = cast(gradient, dtype=wide) if gradient.dtype != wide else gradient.detach()
    return Pending(name, leaf, start, gradient, slots)


def _start(leaf: Value, slots: Slots, wide: DType) -> Value:
    """Return the value to step from: the float32 copy of a half type parameter, unless the parameter was written to."""
    master = slots.pop(MASTER, None)
    if wide == leaf.dtype:
        return leaf.detach()
    if master is not None and np.array_equal(cast(master, dtype=leaf.dtype).numpy(), leaf.numpy(), equal_nan=True):
        return master
    return cast(leaf, dtype=wide)


def _fresh(transform: Transform, leaf: Value, wide: DType) -> Slots:
    specs = transform.slots(Spec(leaf.shape, wide))
    return {slot: Value(spec.shape, spec.dtype, np.zeros(spec.shape, spec.dtype)) for slot, spec in specs.items()}


def _read_slots(name: str, arrays: Mapping[str, Any], transform: Transform, leaf: Value) -> Slots:
    wide = computing_dtype(leaf.dtype)
    specs = transform.slots(Spec(leaf.shape, wide))
    if wide != leaf.dtype:
        specs = {**specs, MASTER: Spec(leaf.shape, wide)}
    if set(arrays) != set(specs):
        raise CheckpointError(f"the state of {name!r} holds {sorted(arrays)}, the optimizer needs {sorted(specs)}")
    slots = {}
    for slot, spec in specs.items():
        array = np.array(arrays[slot], spec.dtype)
        if array.shape != spec.shape:
            raise CheckpointError(f"the state {slot!r} of {name!r} has shape {list(array.shape)}: {list(spec.shape)}")
        slots[slot] = Value(spec.shape, spec.dtype, array)
    return slots


Given = Value | Mapping[str, Value] | Iterable[Value]
"""Leaves by name, a list of them, or one alone."""


def named_parameters(params: Given, known: Mapping[str, Value]) -> dict[str, Value]:
    """Name parameters: by the names given, else by those of the leaves, else by their number.

    Args:
        params: the leaves.
        known: the parameters that the optimizer already has.

    Raises:
        AttributeValueError: no parameters, or a parameter or name that occurs twice.
        GradientError: a parameter is not a leaf.
    """
    pairs = _pairs(params, len(known))
    if not pairs:
        raise AttributeValueError("optimizer got an empty parameter list")
    named: dict[str, Value] = {}
    seen = {id(leaf) for leaf in known.values()}
    for name, leaf in pairs:
        if not leaf.is_leaf:
            raise GradientError(f"can't optimize a non-leaf value: {name!r} is what {_maker(leaf)} gave")
        if id(leaf) in seen:
            raise AttributeValueError(f"some parameters appear in more than one place: {name!r} is given twice")
        if name in named or name in known:
            raise AttributeValueError(f"two parameters are called {name!r}; give each a name of its own")
        seen.add(id(leaf))
        named[name] = leaf
    return named


def _pairs(params: Given, count: int) -> list[tuple[str, Value]]:
    if isinstance(params, Mapping):
        return list(params.items())
    leaves = [params] if isinstance(params, Value) else list(params)
    return [(leaf.name or f"parameter_{count + place}", leaf) for place, leaf in enumerate(leaves)]


def _maker(leaf: Value) -> str:
    return "no op" if leaf.node is None else leaf.node.op.name
