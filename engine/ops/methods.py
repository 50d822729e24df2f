"""Binds operators and methods onto Value from the op table, so that values read like arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.errors import ShapeError
from engine.registry import OPS, Op
from engine.value import Operand, Value

OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "pow": "pow",
    "matmul": "matmul",
    "and": "logical_and",
    "or": "logical_or",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
    "eq": "eq",
    "ne": "ne",
}
REFLECTED = ("add", "sub", "mul", "truediv", "pow", "matmul", "and", "or")
NOT_METHODS = ("stack", "concat", "pack", "full", "fill", "zeros", "ones", "eye", "arange", "linspace", "meshgrid")


def bind_methods() -> None:
    """Give Value its operators, one method per op, and indexing."""
    for operator, name in OPERATORS.items():
        setattr(Value, f"__{operator}__", _binary(OPS[name]))
    for operator in REFLECTED:
        setattr(Value, f"__r{operator}__", _reflected(OPS[OPERATORS[operator]]))
    Value.__neg__ = _unary(OPS["neg"])  # type: ignore[method-assign]
    Value.__invert__ = _unary(OPS["logical_not"])  # type: ignore[method-assign]
    Value.__getitem__ = _getitem  # type: ignore[method-assign]
    for op in OPS.values():
        for name in (op.name, *op.aliases):
            if name not in NOT_METHODS and not hasattr(Value, name):
                setattr(Value, name, _method(op))
    Value.T = property(_unary(OPS["transpose"]))  # type: ignore[attr-defined]


def _unary(op: Op[Any]) -> Callable[[Value], Value]:
    return lambda self: op(self)  # noqa: PLW0108 - an Op is no function, so it would not bind


def _binary(op: Op[Any]) -> Callable[[Value, Operand], Value]:
    return lambda self, other: op(self, other)  # noqa: PLW0108 - an Op is no function, so it would not bind


def _reflected(op: Op[Any]) -> Callable[[Value, Operand], Value]:
    return lambda self, other: op(other, self)


def _method(op: Op[Any]) -> Callable[..., Any]:
    def method(self: Value, *operands: Operand, **attrs: Any) -> Any:
        return op(self, *operands, **attrs)

    method.__doc__ = op.doc
    method.__name__ = op.name
    return method


def _getitem(self: Value, index: Any) -> Value:
    """Index with integers, slices (step >= 1), None and one Ellipsis, by NumPy's rule."""
    entries = _expand(index if isinstance(index, tuple) else (index,), self.ndim)
    result, axis = self, 0
    for entry in entries:
        if entry is None:
            result = OPS["unsqueeze"](result, axis=axis)
            axis += 1
        elif isinstance(entry, slice):
            if entry != slice(None):
                result = OPS["slice"](result, axis=axis, start=entry.start, stop=entry.stop, step=entry.step or 1)
            axis += 1
        else:
            result = _take_one(result, axis, entry)
    return result


def _expand(entries: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    used = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if used > ndim:
        raise ShapeError(f"too many indices: {used} for {ndim} axes")
    if Ellipsis not in entries:
        return entries
    place = entries.index(Ellipsis)
    return (*entries[:place], *(slice(None),) * (ndim - used), *entries[place + 1 :])


def _take_one(value: Value, axis: int, entry: Any) -> Value:
    if isinstance(entry, bool) or not hasattr(entry, "__index__"):
        raise ShapeError(f"an index is an integer, a slice, None or ..., not {type(entry).__name__}")
    place, extent = entry.__index__(), value.shape[axis]
    if not -extent <= place < extent:
        raise ShapeError(f"index {place} is out of range for axis {axis} of extent {extent}")
    place %= extent
    return OPS["squeeze"](OPS["slice"](value, axis=axis, start=place, stop=place + 1), axis=axis)  # type: ignore[no-any-return]
