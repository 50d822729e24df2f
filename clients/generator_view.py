"""The contract as the generator understands it."""

import copy
from typing import Any

_JSON = "application/json"
_OCTETS = "application/octet-stream"


def generator_view(document: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the OpenAPI document in which a body of bytes has one content type.

    The generator has one Python type for all bytes, and would send each of them under the last content type listed.
    Where the type can also be told by a query parameter, beside application/octet-stream, only that is left.
    """
    view = copy.deepcopy(document)
    for path in view["paths"].values():
        for operation in path.values():
            content = operation.get("requestBody", {}).get("content", {})
            if _OCTETS in content:
                for kind in content.keys() - {_JSON, _OCTETS}:
                    del content[kind]
    return view
