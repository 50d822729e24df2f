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


def generated_cases() -> list[tuple[str, str]]:
    """Return the operations that generated requests are sent of, "positive" requests and "negative" ones.

    Left out are streams, and what creates a key: the first would shut all others out of the server that they share.
    """
    operations = {
        f"{method.upper()} {path}": operation
        for path, methods in contract()["paths"].items()
        for method, operation in methods.items()
        if not path.endswith("/events") and (path, method) != ("/v1/keys", "post")
    }
    # A request without a query and a body cannot be bad.
    bad = [label for label, operation in operations.items() if _has_query(operation) or "requestBody" in operation]
    return [*((label, "positive") for label in operations), *((label, "negative") for label in bad)]


def _has_query(operation: dict[str, Any]) -> bool:
    return any(parameter["in"] == "query" for parameter in operation.get("parameters", ()))


@lru_cache(maxsize=4)  # all of them would take hundreds of megabytes
def syntax(path: Path) -> ast.Module:
    """Return what a module says."""
    return ast.parse(path.read_text("utf-8"))
