"""The contract and the syntax of modules, which many tests look at and none changes: not made anew for each."""

import ast
import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@cache
def contract() -> dict[str, Any]:
    """Return the committed OpenAPI document; that it is the server's is tested (tests/app/api/test_openapi.py)."""
    document: dict[str, Any] = json.loads((ROOT / "clients/openapi.json").read_text("utf-8"))
    return document


@lru_cache(maxsize=4)  # all of them would take hundreds of megabytes
def syntax(path: Path) -> ast.Module:
    """Return what a module says."""
    return ast.parse(path.read_text("utf-8"))
