"""The page `/docs`: the OpenAPI document of this server, shown by a copy of Swagger UI that is part of the package."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Annotated

from fastapi import Path, Response

from app.api.routing import router
from app.domain.errors import NotFound

CONTENT_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "index.html": "text/html",
        "start.js": "text/javascript",
        "swagger-ui-bundle.js": "text/javascript",
        "swagger-ui.css": "text/css",
    }
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Scripts, styles and requests are the server's own; `data:` is for the icons in the style sheet."""

HEADERS: Mapping[str, str] = MappingProxyType(
    {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}
)

routes = router("documentation")


@routes.get("/docs", include_in_schema=False)
def show_documentation() -> Response:
    """Return the page. It needs no key, and asks for one where the document does."""
    return _file("index.html")


@routes.get("/docs/{name}", include_in_schema=False)
def get_documentation_file(name: Annotated[str, Path(max_length=64)]) -> Response:
    """Return a script or style sheet of the page."""
    if name not in CONTENT_TYPES:
        raise NotFound("the page /docs has no such file")
    return _file(name)


def _file(name: str) -> Response:
    return Response(_content(name), media_type=CONTENT_TYPES[name], headers=dict(HEADERS))


@cache
def _content(name: str) -> bytes:
    return files("app.api").joinpath("swagger_ui", name).read_bytes()
