"""Module: a part of a model that holds parameters, buffers and other modules; its arrays and its summary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from engine.autograd import tape
from engine.core.dtypes import DType, check_device, dtype_of, is_float
from engine.core.errors import CheckpointError, DTypeError, EngineError, UnknownName, nearest
from engine.core.modes import no_grad
from engine.core.value import Array, Value
from engine.data.checkpoint import Checkpoint, write_tensors

Parts = dict[str, Value]


class Module(ABC):
    """A part of a model: call `super().__init__()`, assign parameters and modules to attributes, write `forward`.

    An attribute that is a leaf requiring a gradient is a parameter, one that is a module a part; state that is not
    trained is a buffer, registered with `register_buffer`. Names are paths, as `encoder.linear_0.weight`.
    """

    training: bool

    def __init__(self) -> None:
        """Start in training mode and without parts."""
        for name in ("_parameters", "_buffers", "_parts"):
            object.__setattr__(self, name, {})
        self.training = True

    @abstractmethod
    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Compute the outputs from the inputs; `module(x)` calls it."""

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Compute the outputs from the inputs."""
        return self.forward(*inputs, **named)

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; register parameters and parts of the model."""
        if isinstance(value, Module):
            self._hold("_parts", name, value)
        elif isinstance(value, Value) and value.node is None and value.requires_grad:
            self._hold("_parameters", name, value)
        elif isinstance(value, Value) and name in self._table("_buffers"):
            self._hold("_buffers", name, value)
        else:
            self._let_go(name)
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        """Delete an attribute and its registration."""
        self._let_go(name)
        object.__delattr__(self, name)

    def register_parameter(self, name: str, value: Value) -> Value:
        """Register `value`, a floating leaf, as the parameter `name`, and return it."""
        if value.node is not None or not is_float(value.dtype):
            raise DTypeError(f"the parameter {name!r} must be a floating leaf; make it with engine.parameter()")
        self._check_free(name)
        self._hold("_parameters", name, value)
        return value

    def register_buffer(self, name: str, value: Value) -> Value:
        """Register `value` as the buffer `name`, state that is saved but not trained, and return it."""
        value.requires_grad = False
        self._check_free(name)
        self._hold("_buffers", name, value)
        return value

    def register_module(self, name: str, module: Module) -> Module:
        """Register `module` as the part `name`, and return it."""
        self._check_free(name)
        self._hold("_parts", name, module)
        return module

    @property
    def parts(self) -> Mapping[str, Module]:
        """The modules it holds, by name."""
        return dict(self._table("_parts"))

    def own(self) -> tuple[Parts, Parts]:
        """Return the parameters and the buffers that it holds itself, not in a part, by name."""
        return dict(self._table("_parameters")), dict(self._table("_buffers"))

    def __repr__(self) -> str:
        return summarize(self)

    def modules(self) -> Iterator[Module]:
        """Yield this module and all below it."""
        yield self
        for part in self.parts.values():
            yield from part.modules()

    def parameters(self) -> Parts:
        """Return every parameter by its name: the leaves themselves, frozen ones too; a shared one once."""
        return self._collect("_parameters")

    def buffers(self) -> Parts:
        """Return every buffer by its name."""
        return self._collect("_buffers")

    def train(self, mode: bool = True) -> Module:
        """Set this module and its submodules to training mode (or evaluation mode), and return it."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Set this module and its submodules to evaluation mode, and return it."""
        return self.train(False)

    def zero_grad(self, *, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or set them to zeros."""
        tape.zero_grad(list(self.parameters().values()), set_to_none=set_to_none)

    def freeze(self, *texts: str) -> list[str]:
        """Freeze the parameters whose names contain one of `texts` (all by default); return their names.

        Raises:
            UnknownName: a text that no name contains.
        """
        return self._set_trained(texts, False)

    def unfreeze(self, *texts: str) -> list[str]:
        """Unfreeze the parameters whose names contain one of `texts` (all by default); return their names."""
        return self._set_trained(texts, True)

    def to(self, *, dtype: object = None, device: str | None = None) -> Module:
        """Convert floating parameters and buffers to `dtype`, in the same leaves; "cpu" is the only device."""
        check_device(device)
        if dtype is not None:
            chosen = dtype_of(dtype)
            if not is_float(chosen):
                raise DTypeError(f"a module can only become a floating dtype, not {chosen.name}")
            for leaf in (*self.parameters().values(), *self.buffers().values()):
                _change_dtype(leaf, chosen)
        return self

    def state_dict(self) -> dict[str, Array]:
        """Return copies of all parameters and buffers by name."""
        return copy_arrays({**self.parameters(), **self.buffers()})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Write parameters and buffers from `state` into the leaves.

        Raises:
            CheckpointError: a name is missing or unknown, or a shape differs; then nothing is changed.
        """
        load_arrays({**self.parameters(), **self.buffers()}, state, "the state")

    def save(self, path: Path) -> None:
        """Write parameters and buffers, named as in a state_dict of PyTorch, to a safetensors file."""
        with path.open("wb") as file:
            write_tensors(file, self.state_dict(), {})

    def load(self, path: Path) -> None:
        """Read what `save` wrote, or another file with tensors of the same names.

        Raises:
            CheckpointError: no such file of this model; nothing has been changed then.
        """
        checkpoint = Checkpoint.load(path)
        load_arrays(
            {**self.parameters(), **self.buffers()}, {**checkpoint.parameters, **checkpoint.buffers}, "the checkpoint"
        )

    def _part_path(self, part: str, name: str) -> str:
        """Return the full name of `name` in `part`."""
        return f"{part}.{name}"

    def _collect(self, key: str) -> Parts:
        found: Parts = dict(self._table(key))
        seen = {id(value) for value in found.values()}
        for part, module in self._table("_parts").items():
            for name, value in module._collect(key).items():  # noqa: SLF001 - of the same class
                if id(value) not in seen:
                    seen.add(id(value))
                    found[self._part_path(part, name)] = value
        return found

    def _name_leaves(self) -> None:
        """Name the leaves by their path in this module; a module that contains this one renames them."""
        for name, leaf in (*self.parameters().items(), *self.buffers().items()):
            leaf.name = name

    def _set_trained(self, texts: tuple[str, ...], flag: bool) -> list[str]:
        parameters = self.parameters()
        for text in texts:
            if not any(text in name for name in parameters):
                raise UnknownName(f"no parameter has {text[:64]!r} in its name{nearest(text, parameters)}")
        chosen = [name for name in parameters if not texts or any(text in name for text in texts)]
        for name in chosen:
            parameters[name].requires_grad = flag
            parameters[name].grad = None
        return chosen

    def _check_free(self, name: str) -> None:
        held = any(name in self._table(key) for key in ("_parameters", "_buffers", "_parts"))
        if hasattr(type(self), name) or (name in self.__dict__ and not held):
            raise UnknownName(f"{name!r} is an attribute of {type(self).__name__} already; choose another name")

    def _hold(self, key: str, name: str, value: object) -> None:
        if name not in self._table(key):  # else it keeps its place in the order
            self._let_go(name)
        object.__setattr__(self, name, value)
        self._table(key)[name] = value
        self._name_leaves()

    def _let_go(self, name: str) -> None:
        for key in ("_parameters", "_buffers", "_parts"):
            self._table(key).pop(name, None)

    def _table(self, key: str) -> dict[str, Any]:
        try:
            return self.__dict__[key]  # type: ignore[no-any-return]
        except KeyError:
            raise EngineError(f"{type(self).__name__}: call super().__init__() before the first attribute") from None


def _change_dtype(leaf: Value, dtype: DType) -> None:
    """Change the dtype of a leaf; its gradient no longer fits."""
    if is_float(leaf.dtype) and leaf.dtype != dtype:
        leaf.data = leaf.numpy().astype(dtype)
        leaf.dtype, leaf.grad = dtype, None
        leaf.shared_counter().version += 1


def copy_arrays(leaves: Mapping[str, Value]) -> dict[str, Array]:
    """Return a copy of the data of each leaf."""
    return {name: leaf.numpy().copy() for name, leaf in leaves.items()}


def load_arrays(leaves: Mapping[str, Value], arrays: Mapping[str, Any], what: str) -> None:
    """Write `arrays` into the leaves of the same names, cast to their dtypes.

    Raises:
        CheckpointError: a name is missing or unknown, or a shape differs; then nothing is changed.
    """
    for name in arrays:
        if name not in leaves:
            raise CheckpointError(f"{what} holds {name[:64]!r}, which the model does not have{nearest(name, leaves)}")
    found = {}
    for name, leaf in leaves.items():
        if name not in arrays:
            raise CheckpointError(f"{what} has no {name!r}")
        given = arrays[name]
        found[name] = given.numpy() if isinstance(given, Value) else np.asarray(given)
        if found[name].shape != leaf.shape:
            raise CheckpointError(
                f"{what} has {name!r} in shape {list(found[name].shape)}, the model in {list(leaf.shape)}"
            )
    with no_grad():
        for name, leaf in leaves.items():
            leaf.copy_(found[name])


WIDTH = 32
"""Columns for the names of parts."""


class Part(Protocol):
    """What a summary reads of a module."""

    @property
    def parts(self) -> Mapping[str, Part]:
        """The modules directly inside, by name."""

    def own(self) -> tuple[Mapping[str, Value], Mapping[str, Value]]:
        """Return the parameters and buffers that the module holds itself."""

    def parameters(self) -> Mapping[str, Value]:
        """Return all parameters, those of its parts included."""

    def buffers(self) -> Mapping[str, Value]:
        """Return all buffers, those of its parts included."""


def summarize(module: Part) -> str:
    """Return the counts of a model, and a line for each part: name, kind, then dtype and shape of what it holds itself.

    Frozen parameters, buffers, and what another part holds too are marked so.
    """
    parameters = list(module.parameters().values())
    total = sum(leaf.size for leaf in parameters)
    trained = sum(leaf.size for leaf in parameters if leaf.requires_grad)
    kept = sum(leaf.size for leaf in module.buffers().values())
    counts = f"{total:,} parameters, {trained:,} trained" + (f", {kept:,} elements in buffers" if kept else "")
    return "\n".join([f"{_kind(module)}: {counts}", *_lines(module, "", set())])


def _lines(module: Part, path: str, seen: set[int]) -> Iterator[str]:
    parameters, buffers = module.own()
    held = [_describe(name, leaf, seen, "" if leaf.requires_grad else "frozen") for name, leaf in parameters.items()]
    held += [_describe(name, leaf, seen, "buffer") for name, leaf in buffers.items()]
    if path or held:
        heading = f"{path} ({_kind(module)})" if path else "itself"
        yield f"  {heading:<{WIDTH}} {', '.join(held)}".rstrip()
    for part, inner in module.parts.items():
        yield from _lines(inner, f"{path}.{part}" if path else part, seen)


def _describe(name: str, leaf: Value, seen: set[int], note: str) -> str:
    notes = [note] * bool(note) + ["shared"] * (id(leaf) in seen)
    seen.add(id(leaf))
    return f"{name} {leaf.dtype.name}{list(leaf.shape)}" + (f" ({', '.join(notes)})" if notes else "")


def _kind(module: Part) -> str:
    return str(getattr(module, "kind", type(module).__name__))
