"""Every route refuses query parameters that it does not declare, and those that are given twice."""

import re
from typing import Any

import httpx
import pytest

from app.main import openapi_document
from tests.app.api.conftest import refused

DOCUMENT = openapi_document()
ROUTES = [
    pytest.param(method, re.sub(r"{[^}]*}", "x", path), operation, id=operation["operationId"])
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]


def declared(operation: dict[str, Any]) -> list[str]:
    return [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]


@pytest.mark.parametrize(("method", "path", "operation"), ROUTES)
def test_unknown_and_doubled_parameters_are_refused(
    http: httpx.Client, method: str, path: str, operation: dict[str, Any]
) -> None:
    names = declared(operation)
    misspelt = {f"{name[:-1]}_": name for name in names}
    answer = http.request(method, path, params=misspelt or {"stat": "running"})
    wanted = [(f"/{name}", "unknown_parameter") for name in misspelt or ("stat",)]
    assert refused(answer) == wanted
    for error in answer.json()["errors"]:
        assert any(name in error["detail"] for name in names) or "takes no query parameters" in error["detail"]
    doubled = http.request(method, path, params=[(name, "1") for name in names for _ in range(2)])
    if names:
        assert refused(doubled) == [(f"/{name}", "duplicate_parameter") for name in names]


def test_the_nearest_parameter_is_named_and_where_there_is_none_all_are(http: httpx.Client) -> None:
    assert "did you mean 'state'?" in http.get("/v1/fits?stat=running").text
    assert "known are cursor, limit, order" in http.get("/v1/graphs?qqqqqq=1").text
    assert "takes no query parameters" in http.get("/v1/system?verbose=1").text
    assert refused(http.get("/openapi.json?format=yaml")) == [("/format", "unknown_parameter")]
