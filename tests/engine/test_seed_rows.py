"""Every row of the seed documents names a test that exists."""

import ast
import tomllib
from functools import cache
from pathlib import Path

from tests.support.rows import each_row

ROOT = Path(__file__).parents[2]
ROWS = tomllib.loads((Path(__file__).parent / "seed_rows.toml").read_text())
COUNTS = {"G": 24, "C": 27, "R": 30, "P": 44, "L": 21}
ACROSS = [f"F{number}" for number in (1, 3, 4, 6, 7, 8, 9, 13, 14, 15)]
"""Rows that the documents have in common or only imply."""
IDS = [f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)] + ACROSS


def test_the_table_holds_every_row_and_nothing_else():
    assert sorted(ROWS) == sorted(IDS)


@each_row("row", IDS)
def test_a_row_names_tests_that_exist(row):
    tests = ROWS[row]["tests"]
    assert tests, f"row {row} ({ROWS[row]['item']}) has no test"
    for name in tests:
        path, _, function = name.partition("::")
        assert function.startswith("test_"), f"{name} names no test function"
        assert function in functions_of(ROOT / path), f"{path} has no {function}"


@cache
def functions_of(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}
