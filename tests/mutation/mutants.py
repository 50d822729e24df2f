"""The table of mutants: small faults, and the tests that should notice them.

A fault is given as text to replace in a source file, which has to be there exactly once: so it still applies after
changes elsewhere in the file, and a change of the text itself is seen before any test runs.
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
    """The table does not fit the sources or the tests; the message names the place."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault, and who should notice it.

    Attributes:
        name: how it is called on the command line.
        fault: what is wrong with the sources then.
        file: the source file.
        find: text that is there once.
        replace: what is there instead.
        tests: folders and files of tests, from the likeliest to the widest, which run one after the other; those that
            are not there are left out.
        select: an expression for `pytest -k`, to run only some of these tests.
    """

    name: str
    fault: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]
    select: str | None = None

    def check(self, tree: Path) -> None:
        """Raise TableError unless a tree has the text once, and some of the tests."""
        path = tree / self.file
        count = path.read_text("utf-8").count(self.find) if path.is_file() else 0
        if count != 1:
            raise TableError(f"{self.name}: its text is {count} times in {self.file}, not once; correct the table")
        if not self.paths(tree):
            raise TableError(f"{self.name}: none of its tests is there: {', '.join(self.tests)}")

    def paths(self, tree: Path) -> list[str]:
        """Return the tests that a tree has."""
        return [path for path in self.tests if (tree / path).exists()]


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
    mutant.check(tree)
    path = tree / mutant.file
    text = path.read_text("utf-8")
    _write(path, text.replace(mutant.find, mutant.replace))
    try:
        yield
    finally:
        _write(path, text)


def _write(path: Path, text: str) -> None:
    """Write a module, and drop what Python has compiled of it: it goes by size and second of the file alone."""
    path.write_text(text, "utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _entries(table: Path) -> list[Mapping[str, Any]]:
    entries: list[Mapping[str, Any]] = tomllib.loads(table.read_text("utf-8"))["mutant"]
    return entries


def _read(entry: Mapping[str, Any]) -> Mutant:
    return Mutant(**{**entry, "tests": tuple(entry["tests"])})
