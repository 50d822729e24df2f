"""Incident S29: a pattern that takes for ever on a text that a client chose. None here goes back and forth in one."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from re import _constants as words  # type: ignore[attr-defined] # how a pattern is parsed is public nowhere else
from re import _parser as parser  # type: ignore[attr-defined] # likewise
from typing import Any

import pytest

from tests.support.contract import syntax

ROOT = Path(__file__).parents[2]
FUNCTIONS = {
    f"re.{name}" for name in ("compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")
}
GREEDY_OR_LAZY = {words.MAX_REPEAT, words.MIN_REPEAT}
DECIDED = {words.POSSESSIVE_REPEAT, words.ATOMIC_GROUP}
"""What is never gone back into."""
MANY = 16
"""Repeats within so many repeats leave few ways to divide a text among them."""
CALL = re.compile("|".join(map(re.escape, sorted(FUNCTIONS))))
SOURCES = [
    path
    for folder in ("app", "engine", "clients/python/adjoint_client")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not {"generated", "_sync"} & {*path.parts} and CALL.search(path.read_text("utf-8"))
]
"""Modules whose text has such a name: to parse them all would take seconds of each process that collects the tests."""
PUT_TOGETHER: Mapping[str, str] = {
    "engine/optim/groups.py": "what the standard library makes of a few patterns of names, in groups that are decided",
    "engine/core/errors.py": "a name of the source, escaped",
    "app/ingest/csv_records.py": "the character between cells, one of four, escaped",
    "engine/graph/loss_spec.py": "the name of an op",
    "app/http/validation.py": "a text that was sent, and the identifier of a column, escaped",
}
"""Where a pattern is made as it is used, of what, and so why it is harmless."""


def compiled(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(syntax(path)):
        match node:
            case ast.Call(ast.Attribute(ast.Name(module), name)) if f"{module}.{name}" in FUNCTIONS:
                yield node


def of_module(path: Path) -> dict[str, str | bytes]:
    """Return the patterns that a module compiles once, each by the expression that it is compiled from."""
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    found = {}
    for node in syntax(path).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            value = getattr(module, ast.unparse(node.targets[0]), None)
            if isinstance(value, re.Pattern):
                found[ast.unparse(node.value)] = value.pattern
    return found


def patterns(path: Path) -> Iterator[str | bytes]:
    for call in compiled(path):
        if isinstance(call.args[0], ast.Constant):
            yield call.args[0].value
        elif path.relative_to(ROOT).as_posix() not in PUT_TOGETHER:
            yield of_module(path)[ast.unparse(call)]


def parts(item: Any) -> Iterator[Any]:
    """Yield the sequences of items that an item of a parsed pattern is made of."""
    if isinstance(item, parser.SubPattern):
        yield item
    elif isinstance(item, list | tuple):
        for inner in item:
            yield from parts(inner)


def ambiguous(sequence: Iterable[Any], *, repeated: bool = False) -> bool:
    """Whether a part that may take more or less of a text is itself repeated: there are too many ways to do that."""
    for word, arguments in sequence:
        again = repeated and word not in DECIDED
        if word in GREEDY_OR_LAZY:
            least, most, _ = arguments
            if repeated and most > max(least, 1):
                return True
            again = repeated or most > MANY
        if any(ambiguous(inner, repeated=again) for inner in parts(arguments)):
            return True
    return False


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_pattern_repeats_what_takes_more_or_less(path: Path) -> None:
    for pattern in patterns(path):
        assert not ambiguous(parser.parse(pattern)), pattern


def test_patterns_that_are_put_together_are_where_it_is_said() -> None:
    created = {path for path in SOURCES for call in compiled(path) if not isinstance(call.args[0], ast.Constant)}
    assert {*PUT_TOGETHER} <= {path.relative_to(ROOT).as_posix() for path in created}


@pytest.mark.parametrize("pattern", ["(a+)+", "(?:a*b)*c", "(a{1,9}?){20}", "(x|(?:ab?c{2,})+)", "(?=(?:.*,)*)"])
def test_a_pattern_that_can_take_for_ever_is_found(pattern: str) -> None:
    assert ambiguous(parser.parse(pattern))


@pytest.mark.parametrize("pattern", ["a+b*", "(?:a++b)*", "(?:a+)++", "(?:,[0-9]{1,6}){0,15}", "(?:ab?)*", "(?>a+)*"])
def test_a_pattern_that_takes_a_text_in_one_go_is_good(pattern: str) -> None:
    assert not ambiguous(parser.parse(pattern))
