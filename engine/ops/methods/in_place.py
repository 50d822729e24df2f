"""In-place forms of ops (`x.add_(y)`, `x[i] = y`): the value takes the result's data and history.

Memory that several values share is written once; a version counter lets backward rules detect that a saved value was
modified. Nodes that read the value before keep its earlier history. An operation whose gradient could silently be wrong
(on a view and its base) is an error.

Random programs are compared with PyTorch (tests/engine/golden/in_place_verdicts.py). Known differences:

* An error here only: a recorded write to memory that a view shares, a write to a broadcast value or a diagonal, and a
  write to a quotient before its divisor gets a gradient (the rule of div reads the quotient).
* An error in PyTorch only, with the right gradient here: a write whose own rule needs the value before it, as
  `y.mul_(y)`, of which a copy is kept, and a write to what the rule here does not read.
* `contiguous` and `as_strided` give copies, never views.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.dtypes import category
from engine.core.errors import DTypeError, GradientError, ShapeError
from engine.core.modes import MODES
from engine.core.registry import OPS, Op
from engine.core.value import RETAINED, Node, Operand, Value, as_value
from engine.ops.methods.operators import ON_BITS, OPERATORS, REFLECTED

NAMES = (
    "add", "sub", "mul", "div", "pow", "neg", "exp", "log", "sqrt", "rsqrt", "reciprocal", "abs", "square", "tanh",
    "sigmoid", "relu", "clamp", "sin", "cos", "floor", "ceil", "round", "trunc", "masked_fill",
)  # fmt: skip


def bind_in_place() -> None:
    """Give Value its in-place methods: `x.add_(y)` and `x += y` for the listed ops, copy_, fill_, zero_, `x[i] = y`."""
    for name in NAMES:
        if name in OPS:
            setattr(Value, f"{name}_", _method(OPS[name]))
    for operator in REFLECTED:  # x += y and so on
        setattr(Value, f"__i{operator}__", _method(OPS[OPERATORS[operator]]))
    for operator, (bitwise, logical) in ON_BITS.items():
        setattr(Value, f"__i{operator}__", _on_bits(_method(OPS[bitwise]), _method(OPS[logical])))
    Value.copy_ = _assign  # type: ignore[attr-defined]
    Value.fill_ = _assign  # type: ignore[attr-defined]
    Value.zero_ = lambda self: _assign(self, 0)  # type: ignore[attr-defined]
    Value.__setitem__ = _set_item  # type: ignore[method-assign]


def _on_bits(bitwise: Callable[..., Value], logical: Callable[..., Value]) -> Callable[[Value, Operand], Value]:
    return lambda self, other: (logical if self.dtype.kind == "b" else bitwise)(self, other)


def rebase(value: Value, node: Node | None, index: int, requires_grad: bool) -> None:
    """Replace the history of a value whose memory was just written; nodes that read it before keep the earlier one."""
    if value.node is None and node is None:
        return
    counter = value.shared_counter()
    was = Value(
        value.shape, value.dtype, value.data, node=value.node, index=value.index, requires_grad=value.requires_grad
    )
    was.counter = counter
    counter.past = counter.past or []
    counter.past.append((id(value), counter.version, was))
    if was.node is not None and was.node.hooks and node is not None:
        keep = was.node.hooks.get(was.index, {}).pop(RETAINED, None)
        if keep is not None:
            node.hooks = {**(node.hooks or {}), index: {RETAINED: keep}}
    value.node, value.index, value.tracked = node, index, requires_grad


def _method(op: Op[Any]) -> Callable[..., Value]:
    def method(self: Value, *operands: Operand, **attrs: Any) -> Value:
        _check_writable(self)
        before = _before(self, operands)
        return _write(self, op(before, *(before if operand is self else operand for operand in operands), **attrs))

    method.__name__ = f"{op.name}_"
    method.__doc__ = f"Write into this value: {op.body.__doc__}"
    return method


def _assign(self: Value, source: Operand) -> Value:
    """Write `source`, broadcast and cast, over this value: the source receives the gradient, the old content zeros."""
    _check_writable(self)
    if source is self:
        return self
    filled = OPS["broadcast_to"](OPS["cast"](source, dtype=self.dtype), shape=self.shape)
    if MODES.recording and self.requires_grad:
        return _write(self, OPS["where"](np.ones(self.shape, bool), filled, _before(self, (source,))))
    return _write(self, OPS["copy"](filled))


def _set_item(self: Value, index: Any, source: Operand) -> None:
    """Write `source`, broadcast and cast, over the elements that a NumPy index selects.

    The old content receives the gradient of the elements that are not selected, `source` that of the others; an index
    that selects an element twice has no gradient.
    """
    _check_writable(self)
    entries = tuple(_plain(entry) for entry in index) if isinstance(index, tuple) else _plain(index)
    given = as_value(source)
    try:
        if not (MODES.recording and (self.requires_grad or given.requires_grad)):
            self.numpy()[entries] = given.numpy()
            self.shared_counter().version += 1
            return
        places = np.arange(self.size).reshape(self.shape)[entries]
    except (IndexError, ValueError) as error:
        raise ShapeError(f"cannot write {list(given.shape)} into a part of {list(self.shape)}: {error}") from error
    spread = OPS["broadcast_to"](OPS["cast"](given, dtype=self.dtype), shape=places.shape)
    flat = OPS["reshape"](_before(self, (source,)), shape=(-1,))
    written = OPS["scatter"](flat, places.reshape(-1), OPS["reshape"](spread, shape=(-1,)), axis=0)
    _write(self, OPS["reshape"](written, shape=self.shape))


def _plain(entry: Any) -> Any:
    return entry.numpy() if isinstance(entry, Value) else entry


def _check_writable(self: Value) -> None:
    """Raise an error for a value without memory, a leaf that is being recorded, and memory that must not change."""
    if self.data is None:
        raise GradientError(
            "a value of a graph has no memory to write to; use the op without the underscore, and x = x + y for x += y"
        )
    if MODES.recording and self.node is None and self.requires_grad:
        raise GradientError(
            "a leaf that requires a gradient is being used in an in-place operation; do it under no_grad(), or write "
            "x = x + y for x += y"
        )
    if MODES.recording and self.counter is not None and self.counter.is_unrecorded_view(self):
        raise GradientError(
            "this view was made under no_grad() of a value that requires a gradient, and is written in place while "
            "operations are recorded: the gradient would miss the write; make the view and write to it in one mode"
        )
    if self.inference and not MODES.inference:
        raise GradientError("inplace update to an inference value outside inference_mode() is not allowed")
    if not self.data.flags.writeable:
        raise GradientError(
            "several elements of this value share one place in memory (it was broadcast), so it cannot be written in "
            "place; copy() it first"
        )


def _before(self: Value, operands: tuple[object, ...]) -> Value:
    """Return the current value as a separate Value, with its data copied if a rule may need them."""
    before = Value(
        self.shape, self.dtype, self.data, node=self.node, index=self.index, requires_grad=self.requires_grad
    )
    tracked = self.requires_grad or any(isinstance(o, Value) and o.requires_grad for o in operands)
    if MODES.recording and tracked:
        before.data = self.numpy().copy()
    else:
        before.counter = self.shared_counter()
    before.inference = self.inference
    return before


def _write(self: Value, result: Value) -> Value:
    if result.shape != self.shape:
        raise ShapeError(f"an in-place operation cannot change shape {list(self.shape)} to {list(result.shape)}")
    if category(result.dtype) > category(self.dtype):
        raise DTypeError(f"an in-place operation cannot store {result.dtype.name} in {self.dtype.name}; cast it first")
    if result.node is not None and result.key == self.key:
        return self  # the op returned its input
    counter = self.shared_counter()
    if MODES.recording and counter.viewed and (result.requires_grad or self.requires_grad):
        raise GradientError(
            "an in-place operation with a gradient on a value that shares its memory with another (a view) is refused; "
            "copy() the value first"
        )
    if result.requires_grad and result.dtype != self.dtype:
        result = OPS["cast"](result, dtype=self.dtype)
    np.copyto(self.numpy(), result.numpy(), casting="unsafe")
    counter.version += 1
    if MODES.recording:
        rebase(self, result.node, result.index, result.requires_grad)
        if self.node is not None:
            self.node.results = (self.numpy(),)
            self.node.counters = {0: (counter, counter.version)}
    return self
