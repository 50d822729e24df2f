"""Calls in PyTorch's form: attributes by place after the inputs, lists of inputs, `dim` and `keepdim` for axes.

An op takes its inputs by place and its attributes by name. `normalize_call` brings further forms to that one:
`sum(x, 0)`, `reshape(x, 2, 3)`, `concat([a, b], 1)`, `gather(x, 1, index)`, `sum(x, dim=0)`. Graphs hold the one form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.core.errors import AttributeValueError
from engine.core.value import Value

if TYPE_CHECKING:
    from engine.core.declared_op import DeclaredOp

SYNONYMS = {"dim": ("axis", "axes"), "dims": ("axes", "axis"), "keepdim": ("keepdims",)}
"""PyTorch's names of attributes, and ours for them; a name that an op has itself is no synonym."""


def rename_attributes(known: Mapping[str, object], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the attributes of a call under the names of the op, `known`; names that mean nothing stay as they are."""
    if SYNONYMS.keys().isdisjoint(given) or not any(name in SYNONYMS and name not in known for name in given):
        return given
    renamed: dict[str, Any] = {}
    for name, value in given.items():
        own = name if name in known else next((own for own in SYNONYMS.get(name, ()) if own in known), name)
        if own in renamed or (own != name and own in given):
            raise AttributeValueError(f"{name!r} and {own!r} are one attribute; give it once", name)
        renamed[own] = value
    return renamed


def normalize_call(
    op: DeclaredOp, operands: tuple[Any, ...], given: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """Return the inputs of a call by place and its attributes by name.

    Raises:
        AttributeValueError: an attribute both by place and by name, or more by place than the op takes so.
    """
    if not op.attributes:
        return operands, given
    for order in op.call.orders:
        if _fits(op, order, operands, given):
            return _split(op, order, operands, given)
    if op.inputs and op.inputs[0].kind is op.inputs[0].VAR_POSITIONAL:
        if not operands or not _lists_inputs(operands[0]):
            return operands, given
        inputs, rest = tuple(operands[0]), operands[1:]
    else:
        count = len(operands) if op.variadic else len(op.inputs)
        if op.random and len(operands) >= count and operands[count - 1] is not None and _is_plain(operands[count - 1]):
            count -= 1  # the key is left out
        inputs, rest = operands[:count], operands[count:]
    return (inputs, {**given, **_positional_attrs(op, inputs, rest, given)}) if rest else (inputs, given)


def _fits(op: DeclaredOp, order: Sequence[str], operands: Sequence[Any], given: Mapping[str, Any]) -> bool:
    """Return whether a call has this order: plain values at the places of attributes, none of them also by name."""
    attributes = [(place, name) for place, name in enumerate(order) if name in op.attributes]
    first = attributes[0][0]
    if len(operands) <= first or (len(operands) > len(order) and not op.variadic):
        return False
    if not op.inputs and len(operands) != len(order):
        return False
    return all(
        name not in given and _is_plain(operands[place]) and op.attributes[name].accepts(operands[place])
        for place, name in attributes
        if place < len(operands)
    )


def _split(
    op: DeclaredOp, order: Sequence[str], operands: tuple[Any, ...], given: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    named = {name: value for name, value in zip(order, operands, strict=False) if name in op.attributes}
    if op.variadic:
        inputs = tuple(operands[len(named) :])
        return (tuple(inputs[0]) if len(inputs) == 1 and _lists_inputs(inputs[0]) else inputs), {**given, **named}
    by_name = dict(zip(order, operands, strict=False))
    return tuple(by_name.get(parameter.name) for parameter in op.inputs), {**given, **named}


def _positional_attrs(
    op: DeclaredOp, inputs: Sequence[Any], rest: tuple[Any, ...], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Name the attributes that are given by place; several integers are one list where the first takes lists."""
    names = tuple(op.attributes) if op.call.by_place is None else op.call.by_place
    spread = bool(names) and op.attributes[names[0]].lists_integers and all(_is_integer(value) for value in rest)
    if spread and (len(rest) > len(names) or not op.attributes[names[0]].accepts(rest[0])):
        rest = (rest,)
    if len(rest) > len(names):
        takes = f"({', '.join(('*' if p.kind is p.VAR_POSITIONAL else '') + p.name for p in op.inputs)})"
        by_place = f" and then {', '.join(names)} by place" if names else ""
        by_name = [name for name in op.attributes if name not in names]
        hint = f"; give {', '.join(f'{name}=' for name in by_name)} by name" if by_name else ""
        if op.call.with_index:
            hint = f"; axis= gives the values, dim= or {op.call.with_index} values and indices"
        raise AttributeValueError(f"{op.name} takes {takes}{by_place}, got {len(inputs) + len(rest)} arguments{hint}")
    named = dict(zip(names, rest, strict=False))
    for name in named:
        if name in given:
            raise AttributeValueError(f"{op.name} got {name!r} by place and by name", name)
    return named


def _lists_inputs(operand: object) -> bool:
    return isinstance(operand, list | tuple) and any(isinstance(item, Value | np.ndarray) for item in operand)


def _is_plain(operand: object) -> bool:
    """Return whether an operand is a Python value, as attributes are, and no array."""
    return operand is None or (
        isinstance(operand, bool | int | float | str | list | tuple | np.generic | np.dtype | type)
        and not _lists_inputs(operand)
    )


def _is_integer(operand: object) -> bool:
    return isinstance(operand, int | np.integer) and not isinstance(operand, bool)
