"""Query parameters: only those that a route declares are accepted, each of them once.

A parameter that nobody reads is dropped without a word by FastAPI: `?stat=running` would list fits in every state.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute

from app.domain.documents import escape, nearest
from app.domain.errors import Finding
from app.http.validation import FINDINGS_MAX, combine_findings


def declared_parameters(route: APIRoute) -> frozenset[str]:
    """Return the names of the query parameters of `route`, as the OpenAPI document lists them.

    They come from the signature of its handler and of its dependencies, and from `openapi_extra`.
    """
    signature = {field.alias for field in get_flat_params(route.dependant) if isinstance(field.field_info, Query)}
    extra = (route.openapi_extra or {}).get("parameters", ())
    return frozenset(signature | {parameter["name"] for parameter in extra if parameter["in"] == "query"})


def check_parameters(request: Request, declared: Collection[str]) -> None:
    """Invalid, pointing at `/<name>`, for each parameter of the query that is not declared or that is given twice."""
    if request.scope["query_string"]:
        given = [name for name, _ in request.query_params.multi_items()]
        findings = [*_findings(given, declared)][:FINDINGS_MAX]
        if findings:
            raise combine_findings(tuple(findings))


def _findings(given: Iterable[str], declared: Collection[str]) -> Iterable[Finding]:
    for name, count in Counter(given).items():
        pointer = f"/{escape(name[:64])}"
        if name not in declared:
            hint = nearest(name, sorted(declared)) if declared else "; this route takes no query parameters"
            yield Finding(pointer, "unknown_parameter", f"unknown query parameter{hint}")
        elif count > 1:
            detail = f"this query parameter is given {count} times; give it once"
            yield Finding(pointer, "duplicate_parameter", detail)
