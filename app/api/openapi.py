"""The OpenAPI document: what FastAPI reads off the routes, and what holds for all of them."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.api import session_static, session_training
from app.api.descriptions import describe_fields, describe_parameters
from app.api.openapi_kinds import add_kinds
from app.api.openapi_parts import with_default
from app.api.operation_examples import add_examples
from app.api.schemas.datasets import InlineDataset
from app.api.schemas.diagnostics import (
    ComputeRequest,
    GradcheckRequest,
    ProfileRequest,
    RowLossesRequest,
    TraceNonfiniteRequest,
)
from app.api.schemas.fit_options import AverageChoice, MetricChoice, NormalizeChoice, ShuffleChoice
from app.api.schemas.graphs import GraphDefinition
from app.api.schemas.predictions import EvaluateRequest, PredictRequest
from app.api.schemas.session_steps import Operation
from app.api.schemas.sweeps import IntervalChoice
from app.api.schemas.values import SHAPE_NAME, TensorInput
from app.domain.access import Scope
from app.http.problems import CONTENT_TYPE, Problem
from app.http.request_scope import scope_needed

REFERENCE = "#/components/schemas/{model}"
METHODS = frozenset({"get", "post", "put", "patch", "delete"})
DESCRIBING: tuple[type[BaseModel], ...] = (
    GraphDefinition,
    ComputeRequest,
    GradcheckRequest,
    ProfileRequest,
    RowLossesRequest,
    TraceNonfiniteRequest,
    InlineDataset,
    PredictRequest,
    EvaluateRequest,
    ShuffleChoice,
    NormalizeChoice,
    AverageChoice,
    MetricChoice,
    IntervalChoice,
    Operation,
    TensorInput,
    *(verb.shape for verb in (*session_training.VERBS, *session_static.STEPS)),
)
"""Shapes that only describe; other parts read what they describe."""

PROBLEM = {"$ref": "#/components/responses/Problem"}
REFUSALS = ("401", "403", "429")
"""Responses of access control: no known key, a scope that is missing, a rate limit."""

LAST_TAG = "ggml"
FASTAPI_ERRORS = ("HTTPValidationError", "ValidationError")
SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def check_operation_ids(routes: Iterable[APIRoute]) -> None:
    """ValueError if two operations have one name: a generated client could hold only one of them."""
    counts = Counter(route.name for route in routes)
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise ValueError(f"several routes are called {', '.join(twice)}; give each function a name of its own")


def openapi(app: FastAPI) -> dict[str, Any]:
    """Return the document, made once an app."""
    if app.openapi_schema is None:
        # The verbs of ggml come last: few clients need them.
        routes = sorted(app.state.routes, key=lambda route: LAST_TAG in route.tags)
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=routes)
        _complete(document)
        app.openapi_schema = document
    return app.openapi_schema


def _complete(document: dict[str, Any]) -> None:
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    _, shapes = models_json_schema(
        [(shape, "validation") for shape in DESCRIBING] + [(Problem, "serialization")], ref_template=REFERENCE
    )
    schemas.update(shapes["$defs"])
    for name in FASTAPI_ERRORS:
        schemas.pop(name, None)
    describe_fields(schemas)
    components["responses"] = {
        "Problem": {
            "description": "What went wrong, and what to change (RFC 9457).",
            "content": {CONTENT_TYPE: {"schema": {"$ref": REFERENCE.format(model="Problem")}}},
        }
    }
    components["securitySchemes"] = SECURITY_SCHEMES
    document["security"] = [{}, *({name: []} for name in SECURITY_SCHEMES)]
    for path, operations in document["paths"].items():
        for method in METHODS & operations.keys():
            responses = operations[method]["responses"]
            responses.pop("422", None)
            responses["default"] = PROBLEM
            describe_parameters(operations[method])
            _say_who_may(operations[method], scope_needed(method.upper(), path))
    _refer_to_shapes(document)
    sent = _reachable(schemas, _references([each.get("requestBody") for each in _operations(document)]))
    for name, schema in schemas.items():
        _state_presence(schema, sent=name in sent)
    add_kinds(document)
    add_examples(document)
    components["schemas"] = dict(sorted(schemas.items()))


def _state_presence(schema: dict[str, Any], *, sent: bool) -> None:
    """Leave what may be left out of a request optional, and require what every response has.

    Generators of typed clients take a field with a default for one that is always there: so a default of a request is
    in the description, and one of a response makes its field required.
    """
    required = set(schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        if "default" not in field or name in required:
            continue
        default = field.pop("default")
        if default is None:
            continue
        if not sent:
            required.add(name)
        else:
            field["description"] = with_default(field.get("description", ""), default)
    if required:
        schema["required"] = [name for name in schema["properties"] if name in required]


def _operations(document: dict[str, Any]) -> Iterable[dict[str, Any]]:
    return (item[method] for item in document["paths"].values() for method in METHODS & item.keys())


def _references(node: Any) -> set[str]:
    """Return the names of the schemas that a part of the document refers to."""
    if isinstance(node, dict):
        own = {node["$ref"].rpartition("/")[2]} if "$ref" in node else set()
        return own.union(*map(_references, node.values()))
    return set().union(*map(_references, node)) if isinstance(node, list) else set()


def _reachable(schemas: dict[str, Any], roots: set[str]) -> set[str]:
    found: set[str] = set()
    while waiting := roots - found:
        found |= waiting
        roots = set().union(*(_references(schemas[name]) for name in waiting if name in schemas))
    return found


def _say_who_may(operation: dict[str, Any], scope: Scope | None) -> None:
    """Name the scope that a key needs; {} is for a server on loopback that has no keys."""
    if scope is None:
        operation["security"] = []
        return
    operation["security"] = [{}, *({name: [scope.value]} for name in SECURITY_SCHEMES)]
    operation["responses"].update(dict.fromkeys(REFUSALS, PROBLEM))


def _refer_to_shapes(node: Any) -> None:
    """Turn the names of shapes, wherever they stand, into references."""
    if isinstance(node, dict):
        if SHAPE_NAME in node:
            reference = REFERENCE.format(model=node.pop(SHAPE_NAME))
            # Beside a reference, OpenAPI 3.1 allows a description; a title would name another model.
            node.pop("title", None)
            node["$ref"] = reference
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            _refer_to_shapes(child)
