"""What the OpenAPI document says: which schemas clients send, and which they only receive."""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

Json = dict[str, Any]

_REFERENCE = re.compile(r"#/components/schemas/([^\"']+)")
_METHODS = ("get", "post", "put", "patch", "delete")


class Route(NamedTuple):
    """An operation of the contract with its method and path."""

    method: str
    path: str
    operation: Json


class Contract:
    """The OpenAPI document with the questions that the generator asks."""

    def __init__(self, document: Json) -> None:
        self.schemas: dict[str, Json] = document["components"]["schemas"]
        self._paths: dict[str, Json] = document["paths"]

    @cached_property
    def routes(self) -> list[Route]:
        """All operations, by name."""
        found = [
            Route(method.upper(), path, item[method])
            for path, item in self._paths.items()
            for method in _METHODS
            if method in item
        ]
        return sorted(found, key=lambda route: str(route.operation["operationId"]))

    @cached_property
    def sent(self) -> set[str]:
        """The schemas of request bodies, with those that they refer to."""
        return self.reachable(
            name for route in self.routes for name in references(route.operation.get("requestBody", {}))
        )

    def reachable(self, roots: Iterable[str]) -> set[str]:
        """Return the schemas `roots` and those that they refer to."""
        found: set[str] = set()
        waiting = [*roots]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += references(self.schemas[name])
        return found


def references(node: Any) -> list[str]:
    """Return the names of the schemas that a part of the document refers to."""
    return _REFERENCE.findall(str(node))


def summary(schema: Json, name: str) -> str:
    """Return the first line of a description, as a docstring."""
    line = str(schema.get("description") or name).partition("\n")[0].strip()
    return line.replace("\\", "\\\\").replace('"', "'")
