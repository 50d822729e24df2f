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
from app.api.schemas.checkpoints import PredictRequest
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
    ShuffleChoice,
    NormalizeChoice,
    AverageChoice,
    MetricChoice,
    IntervalChoice,
    Operation,
    TensorInput,
    *(verb.shape for verb in (*session_training.VERBS, *session_static.STEPS)),
)
"""Shapes that only describe, while somebody else reads what they describe."""

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
    components["schemas"] = dict(sorted(schemas.items()))
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
