"""In-place forms of ops (`x.add_(y)`): the value takes the result's data and history; saved data is protected.

The memory that others may share is written once, and its counter tells every rule that saved it. Where a gradient
could silently go wrong (a view and its base), the operation is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.errors import DTypeError, GradientError, ShapeError
from engine.modes import MODES
from engine.registry import OPS, Op
from engine.value import Operand, Value

NAMES = (
    "add", "sub", "mul", "div", "pow", "neg", "exp", "log", "sqrt", "rsqrt", "reciprocal", "abs", "square", "tanh",
    "sigmoid", "relu", "clamp", "sin", "cos", "floor", "ceil", "round", "trunc", "masked_fill",
)  # fmt: skip


def bind_in_place() -> None:
    """Give Value a method with a trailing underscore for every op of the list, and copy_, fill_ and zero_."""
    for name in NAMES:
        if name in OPS:
            setattr(Value, f"{name}_", _method(OPS[name]))
    Value.copy_ = _assign  # type: ignore[attr-defined]
    Value.fill_ = _assign  # type: ignore[attr-defined]
    Value.zero_ = lambda self: _assign(self, 0)  # type: ignore[attr-defined]


def _method(op: Op[Any]) -> Callable[..., Value]:
    def method(self: Value, *operands: Operand, **attrs: Any) -> Value:
        before = _before(self)
        return _write(self, op(before, *operands, **attrs))

    method.__name__ = f"{op.name}_"
    method.__doc__ = f"Write into this value: {op.body.__doc__}"
    return method


def _assign(self: Value, source: Operand) -> Value:
    """Write `source`, broadcast and cast, over this value; the gradient goes to the source."""
    _before(self)
    filled = OPS["broadcast_to"](OPS["cast"](source, dtype=self.dtype), shape=self.shape)
    return _write(self, OPS["copy"](filled))


def _before(self: Value) -> Value:
    """Check that the value may be written, and return what it was as a value of its own."""
    if self.data is None:
        raise GradientError("a value of a graph has no memory to write to; use the op without the underscore")
    if MODES.recording and self.node is None and self.requires_grad:
        raise GradientError(
            "a leaf that requires a gradient is being used in an in-place operation; do it under no_grad()"
        )
    if self.inference and not MODES.inference:
        raise GradientError("inplace update to an inference value outside inference_mode() is not allowed")
    before = Value(
        self.shape, self.dtype, self.data, node=self.node, index=self.index, requires_grad=self.requires_grad
    )
    before.counter = self.shared_counter()
    return before


def _write(self: Value, result: Value) -> Value:
    if result.shape != self.shape:
        raise ShapeError(f"an in-place operation cannot change shape {list(self.shape)} to {list(result.shape)}")
    if np.dtype(result.dtype).kind > self.dtype.kind and self.dtype.kind != "f":
        raise DTypeError(f"an in-place operation cannot store {result.dtype.name} in {self.dtype.name}; cast it first")
    counter = self.shared_counter()
    if result.requires_grad and counter.viewed:
        raise GradientError(
            "an in-place operation with a gradient on a value that shares its memory with another (a view) is refused; "
            "copy() the value first"
        )
    np.copyto(self.numpy(), result.numpy(), casting="unsafe")
    counter.version += 1
    if MODES.recording:
        self.node, self.index, self.requires_grad = result.node, result.index, result.requires_grad
    if MODES.recording and self.node is not None:
        self.node.results = (self.numpy(),)
        self.node.counters = {0: (counter, counter.version)}
    return self
