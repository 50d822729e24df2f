"""The page /docs: complete without any other server, open without a key, and strict about what it may load."""

import re

import httpx
import pytest

from app.api.documentation import CONTENT_TYPES
from tests.support.server import StartServer

KEY = "a-key-for-the-docs-page"


@pytest.mark.parametrize("key", [None, KEY])
def test_the_page_and_its_files_come_from_the_server(start_server: StartServer, key: str | None) -> None:
    http = start_server(**({"api_key": key} if key else {})).http
    page = http.get("/docs")
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert sorted(named) == ["docs/start.js", "docs/swagger-ui-bundle.js", "docs/swagger-ui.css", "openapi.json"]
    for path in ("/docs", *(f"/{name}" for name in named if name != "openapi.json")):
        answer = http.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"].partition(";")[0] in CONTENT_TYPES.values()
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "http" not in policy
    assert http.get("/openapi.json").status_code == (401 if key else 200)


def test_no_other_file_and_no_other_method(http: httpx.Client) -> None:
    for name in ("NOTICE.md", "..%2Fopenapi.py", "%2e%2e/openapi.py", "LICENSE"):
        assert http.get(f"/docs/{name}").status_code == 404
    assert http.post("/docs").status_code == 405
