"""Sets of options as dataclasses: read from a document with every fault at its JSON pointer, and described for clients.

A field's annotation is one that `engine.core.attributes` reads, with `Range(...)` beside it where numbers are limited;
another such dataclass, or a tuple of them; or anything with `Reads(...)` beside it, which says how. Null is a value
where the type has it, else it means the default. A class may add `faults()`: what is wrong between its fields, as pairs
of a pointer below it and a sentence.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from engine.core.attributes import Attribute, Range, check, describe
from engine.core.errors import DocumentError, EngineError, Finding, escape, nearest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reads:
    """How a field is read: `read(reader, value, pointer)` returns it, or notes a fault; `says` what it takes."""

    read: Callable[[Reader, Any, str], Any]
    says: str


@dataclass(frozen=True, slots=True)
class Option:
    """One field: its type, and what stands beside that."""

    field: Field[Any]
    type: Any
    range: Range | None
    reads: Reads | None

    @property
    def required(self) -> bool:
        """Whether a document must give it."""
        return self.field.default is MISSING and self.field.default_factory is MISSING

    @property
    def nested(self) -> Any:
        """The dataclass that it holds, or None."""
        return next((option for option in _choices(self.type) if is_dataclass(option)), None)

    @property
    def members(self) -> Any:
        """The dataclass of which it holds a list, or None."""
        lists = [get_args(option) for option in _choices(self.type) if get_origin(option) is tuple]
        return next((args[0] for args in lists if args[-1] is Ellipsis and is_dataclass(args[0])), None)


def read_options(reader: Reader, document: Any, pointer: str, kind: type[T]) -> T | None:
    """Read the object at `pointer` as a `kind`; every fault is noted, and then the result may be None."""
    before = len(reader.findings)
    document = reader.mapping(document, pointer)
    of: Any = kind
    options = options_of(of)
    reader.fields(document, pointer, options)
    given = {}
    for name, option in options.items():
        value = document.get(name)
        if value is not None:
            given[name] = _read(reader, value, f"{pointer}/{escape(name)}", option)
        elif name in document and type(None) in _choices(option.type):
            given[name] = None
        elif option.required:
            reader.fault(pointer, "missing_field", f"the field {name!r} is required")
    if len(reader.findings) > before:
        return None
    made: T = of(**given)
    for place, detail in getattr(made, "faults", tuple)():
        reader.fault(pointer + place, "attribute_invalid", detail)
    return made


@cache
def options_of(kind: Any) -> dict[str, Option]:
    """Return the options of the dataclass `kind`, by name."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: _option(field, hints[field.name]) for field in fields(kind) if field.init}


def describe_options(kind: Any) -> list[dict[str, Any]]:
    """Describe every option for the catalogue: name, type in words, whether it is required, default and range."""
    return list(_descriptions(kind))


def summary(kind: Any) -> str:
    """Return the documentation of a set of options."""
    return inspect.getdoc(kind) or ""


def _descriptions(kind: Any) -> Iterator[dict[str, Any]]:
    for name, option in options_of(kind).items():
        entry: dict[str, Any] = {"name": name, "type": _words(option), "required": option.required}
        inner = option.nested or option.members
        if inner is not None:
            entry["attrs"] = describe_options(inner)
        elif not option.required and option.field.default is not MISSING:
            entry["default"] = option.field.default
        if option.range is not None:
            entry["range"] = str(option.range)
        yield entry


def _words(option: Option) -> str:
    if option.reads is not None:
        return option.reads.says
    if option.nested is not None:
        return "an object"
    return "a list of objects" if option.members is not None else describe(option.type)


def _option(field: Field[Any], hint: Any) -> Option:
    marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    plain = get_args(hint)[0] if marks else hint
    ranges = [mark for mark in marks if isinstance(mark, Range)]
    readers = [mark for mark in marks if isinstance(mark, Reads)]
    return Option(field, plain, ranges[0] if ranges else None, readers[0] if readers else None)


def _read(reader: Reader, value: Any, pointer: str, option: Option) -> Any:
    if option.reads is not None:
        return option.reads.read(reader, value, pointer)
    if option.nested is not None:
        return read_options(reader, value, pointer, option.nested)
    if option.members is not None:
        items = enumerate(reader.sequence(value, pointer))
        return tuple(read_options(reader, item, f"{pointer}/{index}", option.members) for index, item in items)
    before = len(reader.findings)
    result = reader.typed(value, option.type, pointer, option.field.name)
    if len(reader.findings) == before and option.range is not None and not option.range.holds(result):
        outside = option.range.outside(result)
        reader.fault(pointer, "out_of_range", f"{option.field.name} must be {option.range}, not {outside}")
    return result


def _choices(type_: Any) -> tuple[Any, ...]:
    return get_args(type_) if get_origin(type_) in (Union, types.UnionType) else (type_,)


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-/]*\Z")
"""What an input, parameter, node or layer may be called."""
NAME_RULE = "a name is a letter or _, then letters, digits and _ . - /"
FAULTS = 100
"""Reading stops after this many errors."""


class Reader:
    """Collects the faults of one document."""

    def __init__(self) -> None:
        """Start without faults."""
        self.findings: list[Finding] = []

    def fault(self, pointer: str, code: str, detail: str) -> None:
        """Note one fault."""
        self._note([Finding(pointer, code, detail)])

    def error(self, pointer: str, error: EngineError) -> None:
        """Note an engine error at `pointer`; the findings of a document error keep their own pointers below it."""
        if isinstance(error, DocumentError):
            self._note([replace(finding, pointer=pointer + finding.pointer) for finding in error.findings])
        else:
            self.fault(pointer + error.place, error.code, str(error))

    def _note(self, findings: Iterable[Finding]) -> None:
        self.findings += findings
        if len(self.findings) >= FAULTS:
            self.finish()

    def finish(self) -> None:
        """Raise what was found, if anything."""
        if self.findings:
            raise DocumentError(self.findings)

    def mapping(self, value: Any, pointer: str) -> Mapping[str, Any]:
        """Return `value` if it is an object, else note the fault and return an empty one."""
        if value.__class__ is dict or isinstance(value, Mapping):
            return value
        self.fault(pointer, "type_mismatch", f"must be an object, not {type_name(value)}")
        return {}

    def sequence(self, value: Any, pointer: str) -> Sequence[Any]:
        """Return `value` if it is a list, else note the fault and return an empty one."""
        if isinstance(value, list | tuple):
            return value
        self.fault(pointer, "type_mismatch", f"must be a list, not {type_name(value)}")
        return ()

    def fields(
        self, document: Mapping[str, Any], pointer: str, known: Iterable[str], required: Iterable[str] = ()
    ) -> None:
        """Note unknown and missing fields of an object."""
        known = tuple(known)
        for name in document:
            if name not in known:
                hint = nearest(str(name), known) or f"; known are {', '.join(known)}"
                self.fault(f"{pointer}/{escape(name)}", "unknown_field", f"unknown field{hint}")
        for name in required:
            if name not in document:
                self.fault(pointer, "missing_field", f"the field {name!r} is required")

    def attribute(self, value: Any, attribute: Attribute, pointer: str, owner: str) -> Any:
        """Return `value` as an attribute of `owner`, or note the fault and return None."""
        try:
            return attribute.read(f"{owner}.{attribute.name}", value)
        except EngineError as error:
            self.error(pointer, error)
            return None

    def typed(self, value: Any, type_: Any, pointer: str, what: str, default: Any = None) -> Any:
        """Return `value` as `type_` (see engine.core.attributes), or note the fault and return `default`."""
        if type_ is str and value.__class__ is str:
            return value
        try:
            return check(what, type_, value)
        except EngineError as error:
            self.error(pointer, error)
            return default


def type_name(value: Any) -> str:
    """Name the JSON type of a value."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), f"a {type(value).__name__}")
