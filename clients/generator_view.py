"""The contract as the generator understands it: two things that it cannot tell apart are told apart for it."""

import copy
from typing import Any

_JSON = "application/json"
_OCTETS = "application/octet-stream"


def generator_view(document: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the OpenAPI document that the generator makes a right client of."""
    view = copy.deepcopy(document)
    _keep_one_type_of_bytes(view)
    _give_inline_objects_free_names(view)
    return view


def _keep_one_type_of_bytes(view: dict[str, Any]) -> None:
    """Where a body may be bytes of any type, leave only those whose type is a query parameter.

    The generator has one Python type for all bytes, and would send each of them under the last content type listed.
    """
    for path in view["paths"].values():
        for operation in path.values():
            content = operation.get("requestBody", {}).get("content", {})
            if _OCTETS in content:
                for kind in content.keys() - {_JSON, _OCTETS}:
                    del content[kind]


def _give_inline_objects_free_names(view: dict[str, Any]) -> None:
    """The object in the field `request` of `Fit` would be called `FitRequest`, as another shape is already."""
    shapes = view["components"]["schemas"]
    for name, shape in shapes.items():
        for field in shape.get("properties", {}).values():
            if field.get("type") == "object" and f"{name}{field.get('title', '')}" in shapes:
                field["title"] += " as given"
