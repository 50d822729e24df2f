"""Binds operators and methods onto Value from the op table, so that values read like arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.ops.getitem import getitem
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
NOT_METHODS = (
    *("stack", "concat", "pack", "meshgrid"),
    *("full", "fill", "zeros", "ones", "eye", "arange", "linspace"),
    *("rope_frequencies", "sinusoidal_encoding", "positional_encoding"),
)


def bind_methods() -> None:
    """Give Value its operators, one method per op, and indexing."""
    for operator, name in OPERATORS.items():
        setattr(Value, f"__{operator}__", _binary(OPS[name]))
    for operator in REFLECTED:
        setattr(Value, f"__r{operator}__", _reflected(OPS[OPERATORS[operator]]))
    Value.__neg__ = _unary(OPS["neg"])  # type: ignore[method-assign]
    Value.__invert__ = _unary(OPS["logical_not"])  # type: ignore[method-assign]
    Value.__getitem__ = getitem  # type: ignore[method-assign]
    for op in OPS.values():
        if op.random and len(op.inputs) == 1:
            continue  # it takes a key and nothing else
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

    method.__doc__ = op.body.__doc__
    method.__name__ = op.name
    return method
