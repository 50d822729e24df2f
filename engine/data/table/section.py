"""The `columns` section of a recipe: the raw columns of each input of the graph, and what is done to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from engine.core.errors import accepted_names, escape, nearest
from engine.core.options import Reader, describe_options, read_options, summary
from engine.data.table.booleans import Boolean
from engine.data.table.categories import Category
from engine.data.table.dates import Date
from engine.data.table.facts import ColumnFacts, Transform
from engine.data.table.numbers import Number
from engine.data.table.raw import column_title
from engine.data.table.texts import Text

KINDS: Mapping[str, type[Any]] = MappingProxyType(
    {"number": Number, "category": Category, "date": Date, "boolean": Boolean, "text": Text}
)
"""The transforms of columns by their names."""
NAMES = {transform: kind for kind, transform in KINDS.items()}
ITEMS_MAX = 10_000
_OPTIONS = frozenset({"column", "columns", "label", "labels", "kind"})


def transform_catalogue() -> list[dict[str, Any]]:
    """Describe every transform of columns for a client: kind, documentation, options with their ranges."""
    return [
        {"kind": kind, "doc": summary(transform), "attrs": describe_options(transform)}
        for kind, transform in KINDS.items()
    ]


@dataclass(frozen=True, slots=True)
class Item:
    """One raw column of an input; without a `transform`, numbers are taken as they are and texts one-hot."""

    column: str
    transform: Transform | None
    pointer: str
    label: str | None = None
    """What people call the column, for messages; None if that is its name."""

    @property
    def title(self) -> str:
        """How messages name the column."""
        return column_title(self.column, self.label)

    def resolved(self, facts: ColumnFacts) -> Transform:
        """Return the transform of a column."""
        if self.transform is not None:
            return self.transform
        return Number() if facts.classes is None else Category()

    def to_json(self) -> dict[str, Any]:
        """Return plain data that `read_section` takes."""
        return transform_document(self.column, self.transform, self.label)


@dataclass(frozen=True, slots=True)
class InputColumns:
    """The columns of an input, side by side; a `single` one gives one value a row, without an axis, if it can."""

    items: tuple[Item, ...]
    single: bool

    def width(self, facts: Mapping[str, ColumnFacts]) -> int:
        """Return the number of values of a row."""
        return sum(item.resolved(facts[item.column]).width(facts[item.column]) for item in self.items)

    def shape(self, facts: Mapping[str, ColumnFacts]) -> tuple[int, ...]:
        """Return the shape of a row."""
        width = self.width(facts)
        return () if self.single and width == 1 else (width,)

    def integer(self, facts: Mapping[str, ColumnFacts]) -> bool:
        """Return whether all values are integers."""
        return all(item.resolved(facts[item.column]).integer for item in self.items)


Section = Mapping[str, InputColumns]
"""The columns of each input."""


def transform_document(column: str, transform: Transform | None, label: str | None = None) -> dict[str, Any]:
    """Return a column and its transform as `read_section` takes them, with every option."""
    named = {"column": column} | ({} if label is None else {"label": label})
    if transform is None:
        return named
    options = {field.name: getattr(transform, field.name) for field in fields(transform)}  # type: ignore[arg-type]
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    return {**named, "kind": NAMES[type(transform)], **plain}


def section_document(section: Section) -> dict[str, Any]:
    """Return plain data that `read_section` reads as the same section."""
    return {
        name: each.items[0].to_json() if each.single else [item.to_json() for item in each.items]
        for name, each in section.items()
    }


def read_section(reader: Reader, value: Any, pointer: str) -> Section:
    """Read, for each input, a column or a list of columns; faults are reported."""
    section = {}
    for name, document in reader.mapping(value, pointer).items():
        at = f"{pointer}/{escape(name)}"
        single = not isinstance(document, list | tuple)
        items: list[Item] = []
        for place, item in enumerate([document] if single else document):
            items += _read_item(reader, item, at if single else f"{at}/{place}")
        if not items and not single:
            reader.fault(at, "empty", "give at least one column")
        if len(items) > ITEMS_MAX:
            reader.fault(at, "out_of_range", f"gives {len(items)} columns; at most {ITEMS_MAX} are taken")
        section[name] = InputColumns(tuple(items), single)
    return section


def _read_item(reader: Reader, document: Any, pointer: str) -> Iterator[Item]:
    if isinstance(document, str):
        yield Item(document, None, pointer)
        return
    before = len(reader.findings)
    document = reader.mapping(document, pointer)
    if ("column" in document) == ("columns" in document) and len(reader.findings) == before:
        reader.fault(pointer, "missing_field", "give one of 'column' and 'columns': the names of raw columns")
    names = _read_names(reader, document, pointer, "column", "columns")
    labels = _read_names(reader, document, pointer, "label", "labels")
    if labels and len(labels) != len(names) and len(reader.findings) == before:
        reader.fault(pointer, "shape_mismatch", f"has {len(labels)} labels for {len(names)} columns; give one for each")
    transform = _read_transform(reader, document, pointer)
    if len(reader.findings) == before:
        for name, label in zip(names, labels or names, strict=True):
            yield Item(name, transform, pointer, None if label == name else label)


def _read_names(
    reader: Reader, document: Mapping[str, Any], pointer: str, single: str, several: str
) -> tuple[str, ...]:
    """Return the texts of a field that holds one, or of its plural that holds a list."""
    field = single if single in document else several
    names = [document[single]] if single in document else document.get(several, [])
    read: tuple[str, ...] = reader.typed(names, tuple[str, ...], f"{pointer}/{field}", several, ())
    return read


def read_transform(item: Any, facts: ColumnFacts) -> Transform | None:
    """Return the transform that an item gives a column; None if it is malformed, which `read_section` reports."""
    reader = Reader()
    transform = None if isinstance(item, str) else _read_transform(reader, item, "")
    return None if reader.findings else Item("", transform, "").resolved(facts)


def _read_transform(reader: Reader, document: Mapping[str, Any], pointer: str) -> Any:
    options = {name: value for name, value in document.items() if name not in _OPTIONS}
    kind = document.get("kind")
    if kind is None and not options:
        return None
    if kind is None:
        kind = next((k for k, t in KINDS.items() if options.keys() <= {f.name for f in fields(t)}), "number")
    if not isinstance(kind, str) or kind not in KINDS:
        hint = accepted_names(kind, KINDS)
        reader.fault(f"{pointer}/kind", "unknown_name", f"there is no kind of column {str(kind)[:64]!r}{hint}")
        return None
    return read_options(reader, options, pointer, KINDS[kind])


def section_faults(
    section: Section, inputs: Mapping[str, Any], facts: Mapping[str, ColumnFacts]
) -> Iterator[tuple[str, str, str]]:
    """Yield what does not fit the graph's inputs or the columns of the data: pointer, code and sentence."""
    for name, each in section.items():
        if name not in inputs:
            hint = nearest(name, inputs) or f"; its inputs are {', '.join(inputs)}"
            yield f"/columns/{escape(name)}", "unknown_name", f"the graph has no input called {name[:64]!r}{hint}"
        for item in each.items:
            if item.column not in facts:
                hint = nearest(item.column, facts) or f"; its columns are {', '.join(facts)}"[:500]
                yield item.pointer, "unknown_column", f"the dataset has no column {item.title}{hint}"
                continue
            known = facts[item.column]
            for code, detail in item.resolved(known).misfits(known):
                yield item.pointer, code, f"column {item.title} {detail}"
