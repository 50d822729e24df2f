"""Paths into a request: field names, and places in lists, joined by dots, as `optimizer.groups.0.lr`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.core.documents import type_name

DEPTH = 16


class PathError(ValueError):
    """A path that leads nowhere in a request; the message says where it ends."""


def replaced(document: Any, path: str, value: Any) -> Any:
    """Return the document with `value` at `path`; nothing is changed.

    Objects on the way that are missing are made; a text in the place of one is its kind, as in `"adam"`.

    Raises:
        PathError: the path leads through something that is neither an object nor a list, or past the end of a list.
    """
    return _replaced(document, path.split("."), 0, value)


def _replaced(document: Any, tokens: list[str], depth: int, value: Any) -> Any:
    if depth == len(tokens):
        return value
    token = tokens[depth]
    document = {"kind": document} if isinstance(document, str) else document
    if document is None or isinstance(document, Mapping):
        document = {} if document is None else document
        return {**document, token: _replaced(document.get(token), tokens, depth + 1, value)}
    here = ".".join(tokens[:depth])
    if not isinstance(document, list | tuple):
        raise PathError(f"{here!r} is {type_name(document)} in the request, in which there is no {token[:64]!r}")
    place = int(token) if token.isascii() and token.isdigit() and len(token) < DEPTH else len(document)
    if place >= len(document):
        raise PathError(f"{here!r} is a list of {len(document)} in the request; {token[:64]!r} is no place in it")
    return [*document[:place], _replaced(document[place], tokens, depth + 1, value), *document[place + 1 :]]


def without(document: Any, path: str) -> Any:
    """Return the document without the field at `path`, which must be there; a value in a list stays."""
    name, _, rest = path.partition(".")
    if isinstance(document, Mapping):
        kept = {key: value for key, value in document.items() if key != name}
        return {**kept, name: without(document[name], rest)} if rest else kept
    if isinstance(document, list | tuple) and rest:
        place = int(name)
        return [*document[:place], without(document[place], rest), *document[place + 1 :]]
    return document
