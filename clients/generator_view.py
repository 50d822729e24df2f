"""The contract as the generator understands it."""

import copy
from typing import Any

_JSON = "application/json"
_OCTETS = "application/octet-stream"
_SAFETENSORS = "application/vnd.safetensors"
_OF_THE_DOOR = ("401", "403", "429")


def generator_view(document: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the OpenAPI document in which a body of bytes has one content type, and refusals one shape.

    The generator has one Python type for all bytes, and would send each of them under the last content type listed.
    Where the type can also be told by a query parameter, beside application/octet-stream, only that is left; else only
    safetensors, which can hold what the others can. Beside bytes it knows JSON only where that is an object.

    Who may do what is left out, with the answers to those who may not: for them it would demand a client of another
    class, and declare a type for each status though all of them are the default one.
    """
    view = copy.deepcopy(document)
    for path in view["paths"].values():
        for operation in path.values():
            operation.pop("security", None)
            for status in _OF_THE_DOOR:
                operation["responses"].pop(status, None)
            content = operation.get("requestBody", {}).get("content", {})
            bodies = content.keys() - {_JSON}
            kept = next((kind for kind in (_OCTETS, _SAFETENSORS) if kind in bodies), None)
            for kind in bodies - {kept} if kept else ():
                del content[kind]
            if bodies and not _is_object(view, content.get(_JSON)):
                content.pop(_JSON, None)
    return view


def _is_object(document: dict[str, Any], body: dict[str, Any] | None) -> bool:
    if body is None:
        return False
    name = body["schema"].get("$ref", "").rpartition("/")[2]
    shape: dict[str, Any] = document["components"]["schemas"].get(name, body["schema"])
    return shape.get("type") == "object"
