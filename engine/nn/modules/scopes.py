"""Reduced precision in the forward pass: values are rounded to a half type and stored in the wider one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from engine.core.dtypes import DEFAULT_FLOAT, DType, dtype_of, is_float
from engine.core.errors import ShapeError, UnknownName, nearest
from engine.core.modes import no_grad
from engine.core.registry import lookup
from engine.core.value import Shape, Value
from engine.nn.initializers import initialize
from engine.ops.elementwise.casting import cast, stop_gradient


def round_through(x: Value, dtype: DType | None) -> Value:
    """Round a floating x to the values of `dtype` and keep its own dtype; None returns it unchanged.

    The gradient ignores the rounding (straight-through estimator).
    """
    if dtype is None or not is_float(x.dtype) or x.dtype.itemsize <= dtype.itemsize:
        return x
    # The rounding error is exact in the wide dtype, so the sum is exactly the rounded number.
    return x + stop_gradient(cast(cast(x, dtype=dtype), dtype=x.dtype) - x)


def _input(inputs: Mapping[str, Value], name: str) -> Value:
    if name not in inputs:
        raise UnknownName(
            f"this layer has no other input called {name[:64]!r}{nearest(name, inputs)}: layers of a Sequential have "
            "one input each; give a Layer of its own `others`, or make a graph"
        )
    return inputs[name]


def _refuse_to_replace(name: str) -> NoReturn:
    raise UnknownName(
        f"a module returns no other {name[:64]!r}: apply the op of this name to both inputs instead, or make a graph"
    )


class DeclarationScope:
    """The scope in which a layer declares its parameters and buffers; it creates and initializes them."""

    def __init__(self, name: str, seed: int, dtype: DType, inputs: Mapping[str, Value]) -> None:
        """Name the layer, whose names are part of what the first values are drawn from, and its other inputs."""
        self.name = name
        self._inputs = inputs
        self.seed = seed
        self.dtype = dtype
        self.parameters: dict[str, Value] = {}
        self.buffers: dict[str, Value] = {}

    def input(self, name: str) -> Value:
        """Return another input."""
        return _input(self._inputs, name)

    def replace_input(self, name: str, value: Value) -> None:
        """Refuse: a module has one output."""
        _refuse_to_replace(name)

    def parameter(self, name: str, shape: Shape, **init: Any) -> Value:
        """Make a parameter."""
        self.parameters[name] = self._create(name, shape, init, self.dtype)
        self.parameters[name].requires_grad = True
        return self.parameters[name]

    def buffer(self, name: str, shape: Shape, *, kind: str = "zeros", dtype: str = "float32") -> Value:
        """Make a buffer; one of the default float takes the module's dtype."""
        given = dtype_of(dtype)
        self.buffers[name] = self._create(name, shape, {"kind": kind}, self.dtype if given == DEFAULT_FLOAT else given)
        return self.buffers[name]

    def apply(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> Value:
        """Infer what an op gives first."""
        return self.apply_all(op, *inputs, name=name, **attrs)[0]

    def apply_all(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> tuple[Value, ...]:
        """Infer what an op gives."""
        outputs = lookup(op)(*inputs, **attrs)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def _create(self, name: str, shape: Shape, init: Mapping[str, Any], dtype: DType) -> Value:
        full = f"{self.name}.{name}"
        return Value(shape, dtype, initialize(init, full, shape, dtype, self.seed), name=full)


class ExecutionScope:
    """The scope in which a layer that has its state is applied to an input."""

    def __init__(
        self,
        parameters: Mapping[str, Value],
        buffers: Mapping[str, Value],
        *,
        inputs: Mapping[str, Value],
        training: bool,
        precision: DType | None = None,
    ) -> None:
        """Take the state and the other inputs; `precision` is what parameters and results are rounded to."""
        self._inputs = inputs
        self._parameters = parameters
        self._buffers = buffers
        self._training = training
        self._precision = precision

    def input(self, name: str) -> Value:
        """Return another input."""
        return _input(self._inputs, name)

    def replace_input(self, name: str, value: Value) -> None:
        """Refuse: a module has one output."""
        _refuse_to_replace(name)

    def parameter(self, name: str, shape: Shape, **init: Any) -> Value:
        """Return the parameter, which must still suit the input."""
        leaf = self._parameters[name]
        if leaf.shape != shape:
            raise ShapeError(
                f"{leaf.name or name} has shape {list(leaf.shape)}, but this input needs {list(shape)}: the layer was "
                "made for inputs of another shape"
            )
        return round_through(leaf, self._precision)

    def buffer(self, name: str, shape: Shape, *, kind: str = "zeros", dtype: str = "float32") -> Value:
        """Return the buffer."""
        return self._buffers[name]

    def apply(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> Value:
        """Apply an op and return its first output; see apply_all."""
        return self.apply_all(op, *inputs, name=name, **attrs)[0]

    def apply_all(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> tuple[Value, ...]:
        """Apply an op, and write what its state becomes in training into the buffers and parameters."""
        chosen = lookup(op)
        if "training" in chosen.attributes and attrs.get("training") is None:
            attrs["training"] = self._training
        made = chosen(*inputs, **attrs)
        outputs = made if isinstance(made, tuple) else (made,)
        if self._training:
            for source, result in chosen.memory.state_updates.items():
                self._update(inputs[source], outputs[result])
        return tuple(round_through(output, self._precision) for output in outputs)

    def _update(self, state: Value | float, new: Value) -> None:
        held = (*self._buffers.values(), *self._parameters.values())
        if isinstance(state, Value) and new.data is not None and any(state is known for known in held):
            with no_grad():
                state.copy_(new.detach())
