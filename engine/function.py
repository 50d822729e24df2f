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

The forward sees values without history. The backward is written in ops, so it can itself be differentiated, unless it
is marked with `once_differentiable`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.backward import pull_back
from engine.dtypes import is_float
from engine.errors import GradientError, ShapeError
from engine.modes import MODES, enable_grad, no_grad
from engine.value import Node, Operand, Spec, Value, as_value


class Context:
    """What a function's forward leaves for its backward.

    Attributes:
        needs_input_grad: for each input, whether its gradient is wanted.
        saved_data: anything but values, by name.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        """Start with nothing saved."""
        self.needs_input_grad = needs_input_grad
        self.saved_data: dict[str, Any] = {}
        self._saved: list[tuple[Value, int]] | None = []
        self.without_gradient: tuple[int, ...] = ()
        self.materialize = True

    def save_for_backward(self, *values: Value) -> None:
        """Keep inputs or outputs; changing them in place before the backward is an error there."""
        self._saved = [(value, value.shared_counter().version) for value in values]

    @property
    def saved(self) -> tuple[Value, ...]:
        """The values kept by `save_for_backward`."""
        if self._saved is None:
            raise GradientError(
                "trying to backward through the graph a second time: what the function saved was freed; call "
                "backward(retain_graph=True) there"
            )
        for value, version in self._saved:
            if value.version != version:
                raise GradientError(
                    "a value saved for backward was modified by an in-place operation: it is at version "
                    f"{value.version}; expected version {version}"
                )
        return tuple(value for value, _ in self._saved)

    def mark_non_differentiable(self, *numbers: int) -> None:
        """Say which outputs (by number) carry no gradient."""
        self.without_gradient = numbers

    def set_materialize_grads(self, flag: bool) -> None:
        """Let backward see zeros (True, the default) or None for outputs that no gradient reached."""
        self.materialize = flag

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
        tracked = MODES.recording and any(value.requires_grad for value in values)
        context = Context(tuple(isinstance(i, Value) and i.requires_grad for i in given))
        with no_grad():
            made = cls.forward(context, *given)
        outputs = made if isinstance(made, tuple) else (made,)
        if not tracked:
            return made
        node = _FunctionNode(cls, context, given, values, outputs)
        flat = context.without_gradient
        results = tuple(
            Value(o.shape, o.dtype, o.data, node=node, index=n, requires_grad=is_float(o.dtype) and n not in flat)
            for n, o in enumerate(outputs)
        )
        return results if isinstance(made, tuple) else results[0]


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
    """Plays the op of a node that a custom function made."""

    differentiable = True
    composition = None
    updates: dict[int, int] = {}  # noqa: RUF012 - never changed

    def __init__(self, function: type[Function], context: Context, given: Sequence[object]) -> None:
        self.name = function.__name__
        self.function = function
        self.context = context
        self.numbers = [number for number, i in enumerate(given) if isinstance(i, Value)]
        self.count = len(given)

    def pull(
        self, node: Node, cotangents: tuple[Value | None, ...], inputs: Sequence[Value], outputs: Sequence[Value]
    ) -> tuple[Any, ...]:
        """Run the function's backward and pick the gradients of the inputs that are values."""
        if self.context.materialize:
            cotangents = tuple(
                Value(o.shape, o.dtype, np.zeros(o.shape, o.dtype)) if g is None else g
                for g, o in zip(cotangents, outputs, strict=True)
            )
        made = self.function.backward(self.context, *cotangents)
        parts = made if isinstance(made, tuple) else (made,)
        if len(parts) != self.count:
            raise GradientError(
                f"function {self.name} returned an incorrect number of gradients (expected {self.count}, "
                f"got {len(parts)})"
            )
        picked = tuple(parts[number] for number in self.numbers)
        for part, value in zip(picked, inputs, strict=True):
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
        outputs: Sequence[Value],
    ) -> None:
        op: Any = _FunctionOp(function, context, given)
        specs = tuple(Spec(output.shape, output.dtype) for output in outputs)
        results = tuple(output.numpy() for output in outputs)
        super().__init__(op, tuple(values), {}, specs, results, needs_grad=True)

    def release(self) -> None:
        """Free the context too."""
        self.op.context.free()  # type: ignore[attr-defined]
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


class _Recompute(Function):
    """Runs a function without recording it, and again with recording when its gradient is wanted."""

    @staticmethod
    def forward(context: Context, *inputs: Any) -> Any:
        """Run once; remember where the random keys stood."""
        function, *operands = inputs
        context.saved_data.update(function=function, operands=operands, keys=MODES.keys.state())
        return function(*operands)

    @staticmethod
    def backward(context: Context, *cotangents: Any) -> Any:
        """Run again from fresh leaves and pull the cotangents back."""
        operands = context.saved_data["operands"]
        leaves = [o.detach() if isinstance(o, Value) else o for o in operands]
        for leaf, operand in zip(leaves, operands, strict=True):
            if isinstance(leaf, Value):
                leaf.requires_grad = operand.requires_grad
        now = MODES.keys.state()
        MODES.keys.restore(context.saved_data["keys"])
        with enable_grad():
            made = context.saved_data["function"](*leaves)
        MODES.keys.restore(now)
        outputs = made if isinstance(made, tuple) else (made,)
        wrt = [leaf for leaf in leaves if isinstance(leaf, Value) and leaf.requires_grad]
        found = iter(pull_back(outputs, list(cotangents), wrt))
        return (None, *(next(found) if isinstance(leaf, Value) and leaf.requires_grad else None for leaf in leaves))


def recompute(function: Callable[..., Any], *operands: Any) -> Any:
    """Call `function` without keeping its intermediate values: they are computed again in the backward pass.

    This is gradient checkpointing. Random keys are restored, so dropout drops the same elements; the gradients are
    bitwise those of a plain call. Parameters must be among the operands.
    """
    return _Recompute.apply(function, *operands)
