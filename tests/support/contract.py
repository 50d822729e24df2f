"""The contract and the syntax of modules, which many tests look at and none changes: not made anew for each."""

import ast
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from app.main.application import openapi_document


@cache
def contract() -> dict[str, Any]:
    """Return the OpenAPI document of the server."""
    return openapi_document()


@lru_cache(maxsize=4)  # all of them would take hundreds of megabytes
def syntax(path: Path) -> ast.Module:
    """Return what a module says."""
    return ast.parse(path.read_text("utf-8"))
