"""The table of mutants: faults of one line each, and the tests that should notice them.

A fault is told as text to replace in a source file, so that it still applies after changes elsewhere in the file. The
text has to be there exactly once; where it may have either of several forms, each is a `[[mutant.place]]`, and one of
them has to be there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TABLES = ("engine", "server")


class TableError(Exception):
    """The table does not fit the sources or the tests; the message says where."""


@dataclass(frozen=True, slots=True)
class Place:
    """Text of a source file, and what a mutant has there instead."""

    file: str
    find: str
    replace: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault, and who should notice it.

    Attributes:
        name: how it is called on the command line.
        fault: what is wrong with the sources then.
        places: alternatives: what is changed, by the form that the sources have.
        tests: folders and files of tests, from the likeliest to the widest, which run one after the other; those that
            are not there are left out.
        select: an expression for `pytest -k`, to run only some of these tests.
    """

    name: str
    fault: str
    places: tuple[Place, ...]
    tests: tuple[str, ...]
    select: str | None = None

    def place(self, tree: Path) -> Place:
        """Return the place in a tree; TableError unless there is exactly one."""
        found = [place for place in self.places if _count(tree, place) == 1]
        if len(found) != 1:
            counts = ", ".join(f"{_count(tree, place)} times in {place.file}" for place in self.places)
            raise TableError(f"{self.name}: its text must be there once, but is there {counts}; correct the table")
        return found[0]

    def paths(self, tree: Path) -> list[str]:
        """Return the tests that a tree has; TableError if it has none of them."""
        found = [path for path in self.tests if (tree / path).exists()]
        if not found:
            raise TableError(f"{self.name}: none of its tests is there: {', '.join(self.tests)}")
        return found


def read_mutants(names: Sequence[str] = ()) -> list[Mutant]:
    """Return the mutants of these names, all of them without any; TableError if one is unknown or is there twice."""
    mutants = [_read(entry) for table in TABLES for entry in _entries(HERE / f"{table}.toml")]
    by_name = {mutant.name: mutant for mutant in mutants}
    if len(by_name) != len(mutants):
        raise TableError("two mutants have one name")
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise TableError(f"there is no mutant {', '.join(unknown)}; --list shows all")
    return [by_name[name] for name in names] or mutants


@contextmanager
def planted(mutant: Mutant, tree: Path) -> Iterator[None]:
    """Have the fault in a tree for the length of the block."""
    place = mutant.place(tree)
    path = tree / place.file
    text = path.read_text("utf-8")
    _write(path, text.replace(place.find, place.replace))
    try:
        yield
    finally:
        _write(path, text)


def _write(path: Path, text: str) -> None:
    """Write a module, and drop what Python has compiled of it: it goes by size and second of the file alone."""
    path.write_text(text, "utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _count(tree: Path, place: Place) -> int:
    path = tree / place.file
    return path.read_text("utf-8").count(place.find) if path.is_file() else 0


def _entries(table: Path) -> list[Mapping[str, Any]]:
    entries: list[Mapping[str, Any]] = tomllib.loads(table.read_text("utf-8"))["mutant"]
    return entries


def _read(entry: Mapping[str, Any]) -> Mutant:
    places = tuple(Place(**place) for place in entry.get("place", ()))
    if "file" in entry:
        places = (Place(entry["file"], entry["find"], entry["replace"]), *places)
    return Mutant(entry["name"], entry["fault"], places, tuple(entry["tests"]), entry.get("select"))
