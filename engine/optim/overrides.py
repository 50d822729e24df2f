"""Options of an optimizer for one step, in the place of those it was made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from math import inf
from typing import Any

import numpy as np

from engine.core.attributes import Attribute, attributes_of
from engine.core.documents import Reader
from engine.core.errors import DocumentError, EngineError, Finding, escape, nearest
from engine.optim.chain import Chain, read_transforms
from engine.optim.groups import ParameterGroup, ParameterGroups
from engine.optim.optimizer import Optimizer

GROUPS = "groups"


def rate_of(given: Any) -> float:
    """Return the learning rate of one step.

    Raises:
        DocumentError: it is no number of at least 0, at /lr.
    """
    if isinstance(given, int | float | np.floating | np.integer) and not isinstance(given, bool) and 0 <= given < inf:
        return float(given)
    raise DocumentError([Finding("/lr", "attribute_invalid", f"lr must be a number >= 0, not {str(given)[:64]!r}")])


def overridden(groups: ParameterGroups, given: Mapping[str, Any]) -> ParameterGroups:
    """Return the groups with other options: those of `given` in every group, and behind them its own of
    `given["groups"]`, a list of objects in the order in which the groups were given.

    Raises:
        DocumentError: an option that no optimizer of the groups has, or whose value does not suit, with its pointer.
    """
    reader = Reader()
    listed = reader.sequence(given.get(GROUPS, ()), f"/{GROUPS}")
    if len(listed) > len(groups.groups) - 1:
        detail = f"{len(listed)} groups are more than the {len(groups.groups) - 1} that there are"
        reader.fault(f"/{GROUPS}", "too_many", detail)
    common = {name: value for name, value in given.items() if name != GROUPS}
    known = {name for group in groups.groups for name in _options(group.optimizer)}
    for name in common:
        if name not in known:
            _unknown(reader, name, "", known)
    made = []
    for place, group in enumerate(groups.groups):
        own = reader.mapping(listed[place], f"/{GROUPS}/{place}") if place < len(listed) else {}
        optimizer = _with(reader, group.optimizer, {n: v for n, v in common.items() if n not in own}, "", skip=True)
        optimizer = _with(reader, optimizer, own, f"/{GROUPS}/{place}", skip=False)
        made.append(replace(group, optimizer=optimizer) if optimizer is not group.optimizer else group)
    reader.finish()
    return ParameterGroups(tuple[ParameterGroup, ...](made))


@cache
def _attributes(kind: type[Optimizer]) -> dict[str, Attribute]:
    return {attribute.name: attribute for attribute in attributes_of(kind)}


def _options(optimizer: Optimizer) -> list[str]:
    return [field.name for field in fields(optimizer)]


def _with(reader: Reader, optimizer: Optimizer, given: Mapping[str, Any], pointer: str, *, skip: bool) -> Optimizer:
    """Return the optimizer with some options; those it does not have are faults, unless they are to be skipped."""
    attributes = _attributes(type(optimizer))
    known, before = _options(optimizer), len(reader.findings)
    changes: dict[str, Any] = {}
    for name, value in given.items():
        place = f"{pointer}/{escape(name)}"
        if name not in known:
            if not skip:
                _unknown(reader, name, pointer, known)
        elif isinstance(optimizer, Chain) and name == "transforms":
            changes[name] = read_transforms(reader, value, place)
        else:
            changes[name] = reader.typed(value, attributes[name].type, place, f"{optimizer.kind}.{name}")
    if not changes or len(reader.findings) > before:
        return optimizer
    try:
        return replace(optimizer, **changes)
    except EngineError as error:
        reader.error(f"{pointer}/{escape(next(iter(changes)))}", error)
        return optimizer


def _unknown(reader: Reader, name: str, pointer: str, known: Any) -> None:
    detail = f"the optimizer has no option {name[:64]!r} (it has: {', '.join(sorted(known))})"
    reader.fault(f"{pointer}/{escape(name)}", "attribute_invalid", detail + nearest(name, known))
