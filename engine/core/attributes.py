"""Typed attributes of ops and layers: read from a signature, checked, described for the catalogue.

An annotation is built from `bool`, `int`, `float`, `str`, `Literal[...]`, `tuple[T, ...]`, `dict[str, Any]`,
`np.dtype` and their unions.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from engine.core.dtypes import dtype_of
from engine.core.errors import AttributeValueError, DTypeError, nearest

Axes = int | tuple[int, ...] | None
Ints = tuple[int, ...]
Window = int | tuple[int, ...]

MISSING = inspect.Parameter.empty
LARGEST = 1e308
LONGEST_LIST = 100_000
"""As many values are taken in one attribute: weights of classes are the longest there are."""
LONGEST = 2**63


@dataclass(frozen=True, slots=True)
class Range:
    """Finite numbers from `low` to `high`; `above` and `below` leave out the end itself.

    Where an option takes something else than numbers too, such as null or a word, that is in every range.
    """

    low: float
    high: float = math.inf
    above: bool = False
    below: bool = False

    def __str__(self) -> str:
        """Return the range in words, to follow "must be"."""
        low = f"greater than {_shown(self.low)}" if self.above else f"at least {_shown(self.low)}"
        high = f"less than {_shown(self.high)}" if self.below else f"at most {_shown(self.high)}"
        if math.isinf(self.low):
            return high
        return low if math.isinf(self.high) else f"{low} and {high}"

    def holds(self, value: Any) -> bool:
        """Return whether a number, or every number of a list, is in the range; null and words always are."""
        if isinstance(value, tuple):
            return all(self.holds(item) for item in value)
        if not isinstance(value, int | float):
            return True
        low = value > self.low if self.above else value >= self.low
        high = value < self.high if self.below else value <= self.high
        return bool(low and high and math.isfinite(value))

    def outside(self, value: Any) -> Any:
        """Return the number out of range: `value`, or the first one of a list."""
        return next(item for item in value if not self.holds(item)) if isinstance(value, tuple) else value


def _shown(number: float) -> str:
    """Return a number for a person: a whole one without an exponent."""
    return str(int(number)) if abs(number) < 1e15 and number == int(number) else f"{number:g}"


Length = Annotated[int, Range(1)]
Count = Annotated[int, Range(0)]
NonNegative = Annotated[float, Range(0)]
Rate = NonNegative
Factor = NonNegative
Positive = Annotated[float, Range(0, above=True)]
Share = Annotated[float, Range(0, 1)]
Fraction = Annotated[float, Range(0, 1, below=True)]
Extents = Annotated[Window, Range(1)]
"""One extent for every spatial axis, or one for each."""
Margins = Annotated[Window, Range(0)]
"""One padding for every spatial axis, or one for each."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One keyword of an op: its name, the type and range its values must have, its default (`MISSING` if required)."""

    name: str
    type: Any
    default: Any
    range: Range | None = None
    plain: frozenset[type] = field(init=False, repr=False)
    words: frozenset[str] = field(init=False, repr=False)
    lists_integers: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Note which values need no closer look: those of these very types, these words, and tuples of integers."""
        options = get_args(self.type) if get_origin(self.type) in (Union, types.UnionType) else (self.type,)
        exact = {bool, types.NoneType, float, *(() if float in options else (int,))}
        words = [word for option in options if get_origin(option) is Literal for word in get_args(option)]
        object.__setattr__(self, "plain", frozenset(option for option in options if option in exact))
        object.__setattr__(self, "words", frozenset(words))
        object.__setattr__(self, "lists_integers", Ints in options)

    def takes(self, value: Any) -> bool:
        """Tell quickly whether a value of the commonest types is one for it; False leaves that to `check`."""
        kind = value.__class__
        if kind is str:
            return value in self.words
        if kind is tuple:
            fits = self.lists_integers and all(item.__class__ is int and -LONGEST < item < LONGEST for item in value)
        elif kind is int:
            fits = int in self.plain and -LONGEST < value < LONGEST
        elif kind is float:
            fits = float in self.plain and -LARGEST <= value <= LARGEST
        else:
            return kind in self.plain
        return fits and (self.range is None or self.range.holds(value))

    def accepts(self, value: Any) -> bool:
        """Return whether a value is of its type."""
        return self.takes(value) or _match(self.type, value)[0]

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is MISSING

    def to_json(self) -> dict[str, Any]:
        """Describe it for the catalogue."""
        entry: dict[str, Any] = {"name": self.name, "type": describe(self.type), "required": self.required}
        if not self.required:
            entry["default"] = self.default.name if isinstance(self.default, np.dtype) else self.default
        if self.range is not None:
            entry["range"] = str(self.range)
        return entry

    def read(self, place: str, value: Any) -> Any:
        """Return `value` in its type (lists become tuples), or raise AttributeValueError, which names `place`."""
        result = check(place, self.type, value)
        self.check_range(place, result)
        return result

    def check_range(self, place: str, value: Any) -> None:
        """Raise AttributeValueError, which names `place`, if a value of its type is out of its range."""
        if self.range is not None and not self.range.holds(value):
            raise AttributeValueError(f"{place} must be {self.range}, not {self.range.outside(value)}")


@lru_cache(maxsize=1024)  # a document of many layers asks for those of the same few again and again
def attributes_of(function: Callable[..., Any], leave_out: tuple[str, ...] = ("out",)) -> tuple[Attribute, ...]:
    """Read the keyword-only parameters of `function` as attributes."""
    hints, ranges = get_type_hints(function), _ranges(function)
    return tuple(
        Attribute(name, hints[name], parameter.default, ranges.get(name))
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name not in leave_out
    )


def _ranges(function: Callable[..., Any]) -> dict[str, Range]:
    """Read the ranges of the parameters of a function off its annotations."""
    annotated = {n: hint for n, hint in get_type_hints(function, include_extras=True).items() if get_args(hint)}
    marks = {name: [mark for mark in get_args(hint) if isinstance(mark, Range)] for name, hint in annotated.items()}
    return {name: found[0] for name, found in marks.items() if found}


def bind(owner: str, attributes: Mapping[str, Attribute], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check `given` against `attributes` and fill in the defaults; `owner` names the op in errors."""
    for name in given:
        if name not in attributes:
            known = ", ".join(attributes) or "none"
            raise AttributeValueError(
                f"{owner} has no attribute {name[:64]!r} (it has: {known}){nearest(name, attributes)}", name
            )
    bound = {}
    for name, attribute in attributes.items():
        if name in given:
            value = given[name]
            read = tuple(value) if value.__class__ is list and len(value) <= LONGEST_LIST else value
            bound[name] = read if attribute.takes(read) else _checked(owner, attribute, value)
        elif attribute.required:
            raise AttributeValueError(f"{owner} needs the attribute {name!r} ({describe(attribute.type)})")
        else:
            bound[name] = attribute.default
    return bound


def _checked(owner: str, attribute: Attribute, value: Any) -> Any:
    try:
        return attribute.read(f"{owner}.{attribute.name}", value)
    except AttributeValueError as error:
        raise AttributeValueError(str(error), attribute.name) from error


def check(place: str, type_: Any, value: Any) -> Any:
    """Return `value` in the type `type_` (lists become tuples), or raise AttributeValueError naming `place`."""
    if isinstance(value, list | tuple) and len(value) > LONGEST_LIST:
        raise AttributeValueError(f"{place} has {len(value)} values; at most {LONGEST_LIST} are taken")
    accepted, result = _match(type_, value)
    if not accepted:
        choices = get_args(type_) if get_origin(type_) is Literal and isinstance(value, str) else ()
        raise AttributeValueError(
            f"{place} must be {describe(type_)}, not {_show(value)}{nearest(str(value), choices)}"
        )
    return result


def describe(type_: Any) -> str:
    """Say in words what values `type_` takes."""
    origin, args = get_origin(type_), get_args(type_)
    if origin in (Union, types.UnionType):
        return " or ".join(describe(option) for option in args)
    if origin is Literal:
        return "one of " + ", ".join(repr(option) for option in args)
    if origin is tuple:
        return (
            f"a list of {describe(args[0])}" if args[-1] is Ellipsis else f"a list of {len(args)} ({describe(args[0])})"
        )
    if type_ is dict or origin is dict:
        return "an object"
    words = {bool: "true or false", int: "an integer", float: "a number", str: "a string", type(None): "null"}
    return "a dtype name" if type_ is np.dtype or origin is np.dtype else words[type_]


def _match(type_: Any, value: Any) -> tuple[bool, Any]:
    origin, args = get_origin(type_), get_args(type_)
    if origin in (Union, types.UnionType):
        return next((match for match in (_match(option, value) for option in args) if match[0]), (False, None))
    if origin is Literal:
        return (isinstance(value, str) and value in args), value
    if origin is tuple:
        return _match_tuple(args, value)
    if type_ is np.dtype or origin is np.dtype:
        return _match_dtype(value)
    if type_ is dict or origin is dict:
        return isinstance(value, dict), value
    return _match_plain(type_, value)


def _match_plain(type_: Any, value: Any) -> tuple[bool, Any]:
    if type_ is type(None):
        return value is None, None
    if isinstance(value, np.integer | np.floating | np.bool_):
        value = value.item()
    if type_ is bool or isinstance(value, bool):
        return type_ is bool and isinstance(value, bool), value
    if type_ is float:
        good = isinstance(value, int | float) and (abs(value) <= LARGEST or value in (math.inf, -math.inf))
        return good, float(value) if good else None
    if type_ is int:
        return isinstance(value, int) and -LONGEST < value < LONGEST, value
    return isinstance(value, str), value


def _match_tuple(args: tuple[Any, ...], value: Any) -> tuple[bool, Any]:
    if not isinstance(value, list | tuple):
        return False, None
    if args[-1] is Ellipsis:
        args = (args[0],) * len(value)
    if len(args) != len(value):
        return False, None
    matches = [_match(type_, item) for type_, item in zip(args, value, strict=True)]
    return all(accepted for accepted, _ in matches), tuple(item for _, item in matches)


def _match_dtype(value: Any) -> tuple[bool, Any]:
    try:
        return isinstance(value, str | np.dtype | type), dtype_of(value)
    except DTypeError:
        return False, None


def _show(value: Any) -> str:
    return f"a {type(value).__name__}" if isinstance(value, dict | list | tuple) else repr(value)[:64]
