"""Parameter groups: optimizers and their options for parameters whose names match patterns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import translate
from functools import cache, lru_cache
from math import inf
from typing import Any

import numpy as np

from engine.core.attributes import Attribute, attributes_of
from engine.core.errors import DocumentError, EngineError, Finding, escape, nearest
from engine.core.options import Reader, type_name
from engine.core.value import Shape
from engine.optim.optimizer import Optimizer
from engine.optim.optimizers import Chain, make_optimizer, read_transforms

SELECTORS = ("match", "ndim", "frozen")
MAX_GROUPS = 64


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a name matches one of the patterns, in which * matches anything and ? one character."""
    return _compiled(patterns).match(name) is not None


@lru_cache(maxsize=1024)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern) for pattern in patterns) or r"(?!)")


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters with common options.

    Attributes:
        optimizer: steps them; its learning rate is the group's own.
        match: patterns of their names.
        ndim: the numbers of axes that they may have; None for any.
        frozen: whether they keep their values.
    """

    optimizer: Optimizer
    match: tuple[str, ...] = ("*",)
    ndim: tuple[int, ...] | None = None
    frozen: bool = False

    def takes(self, name: str, shape: Shape) -> bool:
        """Return whether a parameter belongs to the group."""
        return matches(name, self.match) and (self.ndim is None or len(shape) in self.ndim)


@dataclass(frozen=True)
class ParameterGroups:
    """The optimizers of a model; each parameter belongs to the first group that takes it.

    The last group takes every parameter, with the options given for all.
    """

    groups: tuple[ParameterGroup, ...]

    @property
    def rest(self) -> Optimizer:
        """The optimizer of the parameters that no other group takes."""
        return self.groups[-1].optimizer

    def group_of(self, name: str, shape: Shape) -> int:
        """Return the index of a parameter's group."""
        return next(place for place, group in enumerate(self.groups) if group.takes(name, shape))

    def frozen(self, name: str, shape: Shape) -> bool:
        """Return whether a parameter's group is frozen."""
        return self.groups[self.group_of(name, shape)].frozen

    def with_momentum(self, momentum: float) -> ParameterGroups:
        """Return the groups with this momentum in each optimizer."""
        groups = self.groups
        return ParameterGroups(
            tuple(
                replace(g, optimizer=g.optimizer if g.frozen else g.optimizer.with_momentum(momentum)) for g in groups
            )
        )

    def idle(self, parameters: Mapping[str, Shape]) -> list[int]:
        """Return the indices of the groups that take no parameter; the last one may be empty."""
        taken = {self.group_of(name, shape) for name, shape in parameters.items()}
        return [place for place in range(len(self.groups) - 1) if place not in taken]


def one_group(optimizer: Optimizer) -> ParameterGroups:
    """Return a single group, which steps all parameters."""
    return ParameterGroups((ParameterGroup(optimizer),))


def read_groups(reader: Reader, document: Any, pointer: str) -> ParameterGroups | None:
    """Read an optimizer with its groups: {"kind", options, "groups": [{"match", "ndim", "frozen", options}]}.

    `match` is a pattern or a list of them, `ndim` a number or a list. A group inherits the options that it does not
    set, unless it has another `kind`. A text alone is a kind without options. Every fault is reported.
    """
    document = {"kind": document} if isinstance(document, str) else document
    if not isinstance(document, Mapping):
        reader.fault(pointer, "type_mismatch", f"must be an object, not {type_name(document)}")
        return None
    options = {name: value for name, value in document.items() if name != "groups"}
    rest = _optimizer(reader, options, pointer)
    entries = reader.sequence(document.get("groups") or (), f"{pointer}/groups")
    if len(entries) > MAX_GROUPS:
        reader.fault(f"{pointer}/groups", "too_many", f"at most {MAX_GROUPS} groups, not {len(entries)}")
        return None
    groups = [_group(reader, entry, options, f"{pointer}/groups/{place}") for place, entry in enumerate(entries)]
    if rest is None or None in groups:
        return None
    made = (*(group for group in groups if group is not None), ParameterGroup(rest))
    moving = {group.optimizer.kind for group in made if not group.frozen}
    if "lbfgs" in moving and sum(not group.frozen for group in made) > 1:
        reader.fault(f"{pointer}/groups", "conflict", "lbfgs steps all parameters together: its groups can only freeze")
    return ParameterGroups(made)


def _group(reader: Reader, entry: Any, common: Mapping[str, Any], pointer: str) -> ParameterGroup | None:
    before = len(reader.findings)
    entry = reader.mapping(entry, pointer)
    match = reader.typed(entry.get("match", "*"), str | tuple[str, ...], f"{pointer}/match", "match", "*")
    ndim = reader.typed(entry.get("ndim"), int | tuple[int, ...] | None, f"{pointer}/ndim", "ndim")
    frozen = reader.typed(entry.get("frozen", False), bool, f"{pointer}/frozen", "frozen", False)
    if "match" not in entry and "ndim" not in entry:
        reader.fault(pointer, "missing_field", "a group needs 'match' or 'ndim' to select its parameters")
    own = {name: value for name, value in entry.items() if name not in SELECTORS}
    inherited = common if own.get("kind", common.get("kind")) == common.get("kind") else {}
    optimizer = _optimizer(reader, {**inherited, **own}, pointer)
    if optimizer is None or len(reader.findings) > before:
        return None
    patterns = (match,) if isinstance(match, str) else match
    return ParameterGroup(optimizer, patterns, (ndim,) if isinstance(ndim, int) else ndim, frozen)


def _optimizer(reader: Reader, options: Mapping[str, Any], pointer: str) -> Optimizer | None:
    try:
        return make_optimizer(options)
    except EngineError as error:
        reader.error(pointer, error)
        return None


GROUPS = "groups"


def read_rate(given: Any) -> float:
    """Return the learning rate of one step.

    Raises:
        DocumentError: it is not a number of at least 0, at /lr.
    """
    if isinstance(given, int | float | np.floating | np.integer) and not isinstance(given, bool) and 0 <= given < inf:
        return float(given)
    raise DocumentError([Finding("/lr", "attribute_invalid", f"lr must be a number >= 0, not {str(given)[:64]!r}")])


def override_options(groups: ParameterGroups, given: Mapping[str, Any]) -> ParameterGroups:
    """Return the groups with other options for one step.

    `given` sets options in every group; `given["groups"]`, a list of objects in the order of the groups, sets those of
    one.

    Raises:
        DocumentError: an option that no optimizer of the groups has, or a value of the wrong type, at its pointer.
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
    """Return the optimizer with other options; unknown ones are faults unless `skip`."""
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
