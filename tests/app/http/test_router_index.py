import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import Match

from app.http.router_index import RouterIndex, noun_of


@pytest.mark.parametrize(
    ("path", "noun"),
    [
        ("/v1/graphs", "/v1/graphs"),
        ("/v1/graphs:validate", "/v1/graphs"),
        ("/v1/graphs/graph_1:compute", "/v1/graphs"),
        ("/v1/sessions/sess_1/parameters/a:b/c", "/v1/sessions"),
        ("/v1/", "/v1/"),
        ("/v1", "/v1"),
        ("/healthz", "/healthz"),
        ("/healthz/more", "/healthz"),
        ("", ""),
        ("/", "/"),
        ("//v1/graphs", "/"),
    ],
)
def test_a_path_has_a_noun(path: str, noun: str) -> None:
    assert noun_of(path) == noun


def route(path: str, method: str) -> APIRoute:
    router = APIRouter()
    router.add_api_route(path, lambda: None, methods=[method])
    [created] = router.routes
    assert isinstance(created, APIRoute)
    return created


@pytest.mark.parametrize(
    ("method", "path", "match", "template"),
    [
        ("GET", "/v1/a/1", Match.FULL, "/v1/a/{a_id}"),
        ("POST", "/v1/a/1:go", Match.FULL, "/v1/a/{a_id}:go"),
        ("GET", "/v1/b/x/y", Match.FULL, "/v1/b/{name:path}"),
        ("PUT", "/v1/a/1", Match.PARTIAL, "/v1/a/{a_id}"),
        ("GET", "/v1/c", Match.NONE, None),
        ("GET", "/v1/a", Match.NONE, None),
    ],
)
def test_a_request_finds_its_route(method: str, path: str, match: Match, template: str | None) -> None:
    routes = [route("/v1/a/{a_id}:go", "POST"), route("/v1/a/{a_id}", "GET"), route("/v1/b/{name:path}", "GET")]
    found, child = RouterIndex(routes).matches({"type": "http", "method": method, "path": path})
    assert found is match
    assert (child["route"].path if child else None) == template


def test_what_is_no_request_finds_none() -> None:
    assert RouterIndex([route("/v1/a", "GET")]).matches({"type": "websocket", "path": "/v1/a"}) == (Match.NONE, {})


def test_a_noun_is_no_parameter() -> None:
    with pytest.raises(ValueError, match="begins with a parameter"):
        RouterIndex([route("/v1/{anything}", "GET")])
