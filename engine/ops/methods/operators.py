"""Binds operators and methods from the op table to Value, so that values are used like arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.core.registry import OPS, Op
from engine.core.value import Operand, Value, as_value
from engine.ops.methods.getitem import getitem

OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "pow": "pow",
    "matmul": "matmul",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
    "eq": "eq",
    "ne": "ne",
}
REFLECTED = ("floordiv", "mod", "add", "sub", "mul", "truediv", "pow", "matmul")
ON_BITS = {
    "and": ("bitwise_and", "logical_and"),
    "or": ("bitwise_or", "logical_or"),
    "xor": ("bitwise_xor", "logical_xor"),
}
"""Bitwise operators of integers, and their counterparts for bool."""
NOT_METHODS = (
    *("stack", "concat", "pack", "meshgrid"),
    *("full", "fill", "zeros", "ones", "eye", "arange", "linspace"),
    *("rope_frequencies", "sinusoidal_encoding", "positional_encoding"),
)


def bind_methods() -> None:
    """Give Value its operators, one method per op, and indexing."""
    for operator, name in OPERATORS.items():
        setattr(Value, f"__{operator}__", _binary(OPS[name]))
    for operator in ("eq", "ne"):
        setattr(Value, f"__{operator}__", _equality(OPS[operator]))
    for operator in REFLECTED:
        setattr(Value, f"__r{operator}__", _reflected(OPS[OPERATORS[operator]]))
    for operator, (bitwise, logical) in ON_BITS.items():
        setattr(Value, f"__{operator}__", _on_bits(OPS[bitwise], OPS[logical]))
        setattr(Value, f"__r{operator}__", _on_bits(OPS[bitwise], OPS[logical], reflected=True))
    Value.__abs__ = _unary(OPS["abs"])  # type: ignore[method-assign]
    Value.__neg__ = _unary(OPS["neg"])  # type: ignore[method-assign]
    Value.__invert__ = lambda self: OPS["logical_not" if self.dtype.kind == "b" else "bitwise_not"](self)  # type: ignore[method-assign]
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


def _equality(op: Op[Any]) -> Callable[[Value, Operand | None], Value]:
    """Return == or !=: elementwise with a value or a number; None equals no value, as in PyTorch."""
    return lambda self, other: NotImplemented if other is None else op(self, other)


def _on_bits(bitwise: Op[Any], logical: Op[Any], *, reflected: bool = False) -> Callable[[Value, Operand], Value]:
    """Return an operator that is logical for bool and bitwise for integers; floats are an error."""

    def operate(self: Value, other: Operand) -> Value:
        op = logical if self.dtype.kind == "b" == as_value(other).dtype.kind else bitwise
        return op(other, self) if reflected else op(self, other)  # type: ignore[no-any-return]

    return operate


def _reflected(op: Op[Any]) -> Callable[[Value, Operand], Value]:
    return lambda self, other: op(other, self)


_OF_NUMPY = frozenset({"dtype", "out"})
"""Arguments that np.sum(x), np.mean(x) and similar functions always pass to the method of that name."""


def _without_defaults(op: Op[Any], attrs: dict[str, Any]) -> dict[str, Any]:
    """Drop the arguments that NumPy's functions pass as None; any other value is an unknown attribute and an error."""
    return {
        name: value for name, value in attrs.items() if not (value is None and name in _OF_NUMPY - {*op.attributes})
    }


def _method(op: Op[Any]) -> Callable[..., Any]:
    def method(self: Value, *operands: Operand, **attrs: Any) -> Any:
        if attrs and not _OF_NUMPY.isdisjoint(attrs):
            attrs = _without_defaults(op, attrs)
        return op(self, *operands, **attrs)

    method.__doc__ = op.body.__doc__
    method.__name__ = op.name
    return method
