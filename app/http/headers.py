"""The headers of a request, looked up many times a request: by name in one step."""

from collections.abc import MutableMapping
from typing import Any

_KEY = "adjoint.headers"


def header(scope: MutableMapping[str, Any], name: bytes) -> str | None:
    """Return the value of a header, its `name` in lower case; the first of several; None if there is none."""
    headers: dict[bytes, bytes] | None = scope.get(_KEY)
    if headers is None:
        headers = scope[_KEY] = dict(reversed(scope["headers"]))
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")
