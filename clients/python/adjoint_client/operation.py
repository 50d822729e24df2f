"""An operation of the contract, and how a call of it becomes a request."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    import httpx


class Operation(NamedTuple):
    """An operation of the server.

    Attributes:
        method: the method of its request.
        path: its path, with the names of the parameters that stand in it.
        query: the names of its query parameters.
        bodies: the media types of the body that it takes.
        answers: the media types of its answer, the name of the schema in place of JSON.
    """

    method: str
    path: str
    query: tuple[str, ...]
    bodies: tuple[str, ...]
    answers: tuple[str, ...]

    def request(self, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the path and the query of a call.

        Raises:
            TypeError: a parameter is unknown, or one of the path is missing.
        """
        placed = [name for _, name, _, _ in Formatter().parse(self.path) if name]
        known = [*placed, *self.query]
        for name in parameters:
            if name not in known:
                raise TypeError(f"{self.path} has no parameter {name!r}; it has {', '.join(known) or 'none'}")
        for name in placed:
            if name not in parameters:
                raise TypeError(f"{self.path} needs the parameter {name!r}")
        path = self.path.format_map({name: quote(str(parameters[name]), safe="") for name in placed})
        query = {name: parameters[name] for name in self.query if parameters.get(name) is not None}
        return path, query


def find_operation(operations: Mapping[str, Operation], name: str) -> Operation:
    """Return an operation by its name.

    Raises:
        ValueError: there is none; the message has the nearest names.
    """
    if name in operations:
        return operations[name]
    near = get_close_matches(name, operations, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise ValueError(f"there is no operation {name!r}{hint} All are in adjoint_client.generated.operations.")


def answer_of(response: httpx.Response) -> Any:
    """Return the JSON of an answer, its text, or its bytes, as its type says; None if it is empty."""
    media = response.headers.get("content-type", "").partition(";")[0]
    if not response.content:
        return None
    if media.endswith("json"):
        return response.json()
    return response.text if media.startswith("text/") else response.content
