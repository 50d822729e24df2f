"""The layout of the sources: what is documented, what must never appear."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import engine

ROOT = Path(__file__).parents[2]
SOURCES = sorted(p for part in ("engine", "app") for p in (ROOT / part).rglob("*.py"))
FORBIDDEN = {
    "pickle in any form": r"\bpickle\b|\bmarshal\b|allow_pickle\s*=\s*True",
    "evaluation of text": r"(?<![\w.])(?<!def )(eval|exec)\(",
    "a shell": r"shell\s*=\s*True",
    "code from a document": r"yaml\.load\(|__import__\(",
}
DRAWERS = ("utils", "common", "helpers", "base", "manager")


@pytest.mark.parametrize("what", FORBIDDEN)
def test_sources_hold_no(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what])
    assert not [(path.name, line.strip()) for path in SOURCES for line in _code(path) if pattern.search(line)]


def test_no_module_is_a_drawer_for_everything() -> None:
    assert not [path for path in SOURCES if path.stem in DRAWERS]


def test_the_front_door_is_sorted_and_complete() -> None:
    assert engine.__all__ == sorted(engine.__all__)
    assert all(hasattr(engine, name) for name in engine.__all__)


def test_every_op_says_what_it_does() -> None:
    for entry in _ops():
        first = entry["doc"].partition("\n\n")[0]
        assert len(first) > 5, entry["name"]
        assert first.endswith((".", ":")), f"{entry['name']}: {first!r}"


def test_the_architecture_page_names_files_that_exist_and_define_what_it_says() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:app|engine)/[\w/.]*)`", page))
    assert len(named) > 12
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    answers = [row.split("|") for row in page.splitlines() if row.startswith("| Where ")]
    assert len(answers) == 6
    for _, question, files, names, _ in answers:
        file, name = (re.findall(r"`([^`]+)`", cell)[0] for cell in (files, names))
        assert re.search(rf"^ *(?:async )?(?:def|class) {name}\b", (ROOT / file).read_text("utf-8"), re.MULTILINE), (
            question
        )


MOST_COLLABORATORS = 6
WIDE_CONSTRUCTORS = {"DataLoader", "DeclaredOp", "Layer", "Sequential", "Value"}
"""Their arguments are options that users name (layers, loaders), declarations (ops), or on the hot path (values)."""


def test_constructors_with_many_collaborators_take_a_configuration_object() -> None:
    wide = set()
    texts = (path.read_text(encoding="utf-8") for path in SOURCES)
    for text in filter(_may_have_a_wide_constructor, texts):
        for kind in ast.walk(ast.parse(text)):
            methods = kind.body if isinstance(kind, ast.ClassDef) else ()
            for method in methods:
                if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                    given = method.args
                    if len(given.posonlyargs + given.args[1:] + given.kwonlyargs) > MOST_COLLABORATORS:
                        wide.add(kind.name)
    assert wide == WIDE_CONSTRUCTORS


def _may_have_a_wide_constructor(text: str) -> bool:
    """Return whether a constructor's arguments have that many commas between them: most modules need not be parsed."""
    return any(given.count(",") > MOST_COLLABORATORS for given in re.findall(r"def __init__\((.*?)->", text, re.DOTALL))


@cache
def _ops() -> list[dict[str, Any]]:
    return engine.op_catalogue()


@cache
def _code(path: Path) -> list[str]:
    """Return the lines of a source without comments and docstrings' prose (lines within triple quotes)."""
    lines, quoted = [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        quotes = line.count('"""')
        if not quoted and not quotes:
            lines.append(line.partition("  #")[0])
        quoted ^= quotes % 2 == 1
    return lines


def test_every_op_is_reached_by_its_name() -> None:
    for entry in _ops():
        for name in (entry["name"], *entry["aliases"]):
            assert not isinstance(getattr(engine.ops, name, None), ModuleType), f"the family {name} hides the op"
        assert not entry["supported"] or callable(getattr(engine.ops, entry["name"]))
