"""Custom functions with a forward and a backward of their own, as torch.autograd.Function.

    class Cube(Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(context, g):
            (x,) = context.saved
            return g * 3 * x * x

    y = Cube.apply(x)

The forward runs unrecorded. The backward is written in ops, so it can itself be differentiated, unless it is marked
with `once_differentiable`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.dtypes import is_float
from engine.core.errors import GradientError, ShapeError
from engine.core.modes import MODES, no_grad
from engine.core.value import Array, Cotangents, Node, Operand, Spec, Value, as_value
from engine.ops.methods.in_place import rebase


class Context:
    """What a function's forward stores for its backward.

    Attributes:
        needs_input_grad: for each input, whether its gradient is wanted.
        saved_data: anything but values, by name.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        """Start with nothing saved."""
        self.needs_input_grad = needs_input_grad
        self.saved_data: dict[str, Any] = {}
        self.materialize = True
        self.dirty: tuple[Value, ...] = ()
        self.without_gradient: tuple[Value, ...] = ()
        self._saved: list[tuple[Value | None, int]] | None = []
        self._places: dict[int, int] = {}
        self._outputs: Sequence[Value] = ()

    def save_for_backward(self, *values: Value | None) -> None:
        """Keep inputs or outputs; changing them in place before the backward is an error there."""
        for value in values:
            if not isinstance(value, Value | None):
                raise GradientError(
                    f"save_for_backward keeps values and None, not {type(value).__name__}: use saved_data"
                )
            if value is not None and value.inference and not MODES.inference:
                raise GradientError("a value made in inference mode cannot be saved for backward; copy() it outside")
        self._saved = [(value, 0 if value is None else value.shared_counter().version) for value in values]

    @property
    def saved(self) -> tuple[Value, ...]:
        """The values of `save_for_backward`, outputs with their history."""
        if self._saved is None:
            raise GradientError(
                "trying to backward through the graph a second time: what the function saved was freed; call "
                "backward(retain_graph=True) there"
            )
        for value, version in self._saved:
            if value is not None and value.version != version:
                raise GradientError(
                    "a value saved for backward was modified by an in-place operation: it is at version "
                    f"{value.version}; expected version {version}"
                )
        places = self._places if self._outputs else {}
        return tuple(
            self._outputs[places[number]] if number in places else value  # type: ignore[misc]
            for number, (value, _) in enumerate(self._saved)
        )

    @property
    def saved_tensors(self) -> tuple[Value, ...]:
        """`saved`, by the name it has in PyTorch."""
        return self.saved

    def get_saved_variables(self) -> tuple[Value, ...]:
        """Return `saved`, by the name it has in PyTorch's C++ interface."""
        return self.saved

    def mark_dirty(self, *inputs: Value) -> None:
        """Mark inputs that the forward writes in place; each must be among its outputs."""
        self.dirty = inputs

    def mark_non_differentiable(self, *outputs: Value) -> None:
        """Mark outputs that carry no gradient."""
        self.without_gradient = outputs

    def set_materialize_grads(self, flag: bool) -> None:
        """Set whether backward gets zeros (True, the default) or None for outputs without a gradient."""
        self.materialize = flag

    def attach(self, outputs: Sequence[Value], inputs: Sequence[Value]) -> None:
        """Note which of the saved values are outputs: they are taken from the node, where they have their history."""
        numbers = {id(output): number for number, output in enumerate(outputs)}
        for place, (value, version) in enumerate(self._saved or ()):
            if id(value) in numbers and value is not None and not _among(value, inputs):
                self._places[place] = numbers[id(value)]
                assert self._saved is not None
                bare = Value(value.shape, value.dtype, None)
                bare.counter = value.counter
                self._saved[place] = (bare, version)

    def show(self, outputs: Sequence[Value]) -> None:
        """Hand the outputs to a backward that is about to run, or take them away again."""
        self._outputs = outputs

    def free(self) -> None:
        """Drop what was saved."""
        self._saved = None


class Function:
    """Subclass with static `forward(context, *inputs)` and `backward(context, *cotangents)`; call `apply`."""

    @staticmethod
    def forward(context: Context, *inputs: Any) -> Value | tuple[Value, ...]:
        """Compute the output or outputs."""
        raise NotImplementedError

    @staticmethod
    def backward(context: Context, *cotangents: Any) -> Any:
        """Return one gradient per input of `forward`; None for those without."""
        raise NotImplementedError

    @classmethod
    def apply(cls, *inputs: Operand | object) -> Any:
        """Run forward and put one node on the tape; inputs that are no values or arrays are passed as they are."""
        given = [as_value(i) if isinstance(i, Value | np.ndarray | list) else i for i in inputs]
        values = [value for value in given if isinstance(value, Value)]
        versions = tuple(value.version for value in values)
        tracked = MODES.recording and any(value.requires_grad for value in values)
        context = Context(tuple(isinstance(i, Value) and i.requires_grad for i in given))
        with no_grad():
            made = cls.forward(context, *given)
        outputs = made if isinstance(made, tuple) else (made,)
        _check_forward(cls, context, outputs, recorded=tracked)
        if not tracked:
            return made
        for value, version in zip(values, versions, strict=True):
            if _among(value, context.dirty) and value.version == version:
                value.shared_counter().version += 1
        node = _FunctionNode(cls, context, given, values, versions, outputs)
        context.attach(outputs, values)
        results = tuple(_attach_output(node, number, output, values, context) for number, output in enumerate(outputs))
        return results if isinstance(made, tuple) else results[0]


def _check_forward(function: type[Function], context: Context, outputs: Sequence[object], *, recorded: bool) -> None:
    for output in outputs:
        if not isinstance(output, Value):
            raise GradientError(f"the forward of {function.__name__} must return values, not {type(output).__name__}")
    for value in context.dirty:
        if not _among(value, outputs):
            raise GradientError(
                f"function {function.__name__} marked an input as dirty and did not return it: every input that is "
                "modified in place must be among the outputs"
            )
        if recorded and value.node is None and value.requires_grad:
            raise GradientError(
                "a leaf that requires a gradient has been used in an in-place operation; do it under no_grad()"
            )
        if recorded and value.counter is not None and value.counter.viewed:
            raise GradientError(
                f"function {function.__name__} writes to a value that shares its memory with another (a view); "
                "copy() the value first"
            )


def _attach_output(node: Node, number: int, output: Value, values: Sequence[Value], context: Context) -> Value:
    """Return an output as one of the node's: a new value, or the input itself that was written in place."""
    wanted = is_float(output.dtype) and not _among(output, context.without_gradient)
    if _among(output, context.dirty):
        rebase(output, node, number, wanted)
        result = output
    else:
        result = Value(output.shape, output.dtype, output.data, node=node, index=number, requires_grad=wanted)
        shared = next((value for value in values if _overlap(value.data, output.data)), None)
        result.counter = output.counter if shared is None else shared.shared_counter()
        if shared is not None and result.counter is not None:
            result.counter.viewed = True
    if result.counter is not None:
        node.counters = {**(node.counters or {}), number: (result.counter, result.counter.version)}
    return result


def _overlap(a: Array | None, b: Array | None) -> bool:
    return a is not None and b is not None and np.may_share_memory(a, b)


def _among(value: object, values: Sequence[object]) -> bool:
    return any(value is other for other in values)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a backward whose results have no history: differentiating them again is an error."""

    def guarded(context: Context, *cotangents: Value | None) -> Any:
        with no_grad():
            made = backward(context, *(None if g is None else g.detach() for g in cotangents))
        if not (MODES.recording and any(g is not None and g.requires_grad for g in cotangents)):
            return made
        parts = made if isinstance(made, tuple) else (made,)
        return tuple(None if part is None else _Once.apply(part, *cotangents) for part in parts)

    return guarded


class _FunctionOp:
    """The op of a node recorded by a custom function."""

    differentiable = True
    composition = None

    def __init__(self, function: type[Function], context: Context, given: Sequence[object]) -> None:
        self.name = function.__name__
        self.function = function
        self.context = context
        self.numbers = [number for number, i in enumerate(given) if isinstance(i, Value)]
        self.count = len(given)

    def pull(
        self, node: Node, cotangents: Cotangents, inputs: Sequence[Value], outputs: Sequence[Value]
    ) -> tuple[Any, ...]:
        """Run the function's backward and pick the gradients of the inputs that are values."""
        if self.context.materialize:
            cotangents = tuple(
                Value(o.shape, o.dtype, np.zeros(o.shape, o.dtype)) if g is None else g
                for g, o in zip(cotangents, outputs, strict=True)
            )
        self.context.show(outputs)
        try:
            made = self.function.backward(self.context, *cotangents)
        finally:
            self.context.show(())
        return self._pick_gradients(made if isinstance(made, tuple) else (made,), inputs)

    def _pick_gradients(self, parts: tuple[Any, ...], inputs: Sequence[Value]) -> tuple[Any, ...]:
        """Check what the backward returned, and pick the gradients of the inputs that are values."""
        got = len(parts)
        while len(parts) > self.count and parts[-1] is None:
            parts = parts[:-1]
        if len(parts) != self.count:
            raise GradientError(
                f"function {self.name} returned an incorrect number of gradients (expected {self.count}, got {got})"
            )
        for number, part in enumerate(parts):
            if part is not None and number not in self.numbers:
                raise GradientError(
                    f"function {self.name} returned a gradient at position {number}, where the input is no value: "
                    "return None there"
                )
        picked = tuple(parts[number] for number in self.numbers)
        for part, value in zip(picked, inputs, strict=True):
            if part is not None and not isinstance(part, Value):
                raise GradientError(f"function {self.name} returned a {type(part).__name__} as a gradient, not a value")
            if part is not None and part.shape != value.shape:
                raise ShapeError(
                    f"function {self.name} returned a gradient of shape {list(part.shape)} for an input of shape "
                    f"{list(value.shape)}"
                )
        return picked


class _FunctionNode(Node):
    """A node whose op holds a context, which is freed with it."""

    __slots__ = ()

    def __init__(
        self,
        function: type[Function],
        context: Context,
        given: Sequence[object],
        values: Sequence[Value],
        versions: tuple[int, ...],
        outputs: Sequence[Value],
    ) -> None:
        op: Any = _FunctionOp(function, context, given)
        specs = tuple(Spec(output.shape, output.dtype) for output in outputs)
        results = tuple(output.numpy() for output in outputs)
        super().__init__(op, tuple(values), {}, specs, results, needs_grad=True)
        self.versions = versions
        self.tape = MODES.tape
        if MODES.anomaly:
            self.origin = "".join(traceback.format_stack(limit=8)[:-2])

    def release(self) -> None:
        """Free the context too."""
        op: Any = self.op
        if isinstance(op, _FunctionOp):  # a recomputed node has dropped it already
            op.context.free()
        super().release()


class _Once(Function):
    """Passes a gradient on, and refuses to be differentiated."""

    @staticmethod
    def forward(context: Context, *inputs: Any) -> Value:
        """The gradient itself."""
        return Value(inputs[0].shape, inputs[0].dtype, inputs[0].data)

    @staticmethod
    def backward(context: Context, *cotangents: Any) -> Any:
        """Refuse."""
        raise GradientError("trying to differentiate twice a function that was marked with @once_differentiable")
