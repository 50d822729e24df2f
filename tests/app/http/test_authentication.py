from typing import Any

import httpx
import pytest

KEY = "correct-horse-battery-staple"  # of the cramped server
GRAPH = {"inputs": {"a": []}, "program": "f = a"}


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "LOCALHOST", "[::1]", "[::1]:80"])
def test_this_machine_is_answered(http: httpx.Client, host: str) -> None:
    assert http.get("/v1/graphs", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil", "evil-localhost", "127.0.0.1.evil", "", "[::2]"])
def test_a_foreign_host_is_refused(http: httpx.Client, host: str) -> None:
    for path in ("/v1/graphs", "/healthz", "/nowhere"):
        response = http.get(path, headers={"Host": host})
        assert (response.status_code, response.json()["code"]) == (403, "host_not_allowed")
        assert response.headers["x-request-id"] == response.json()["request_id"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_pages_of_other_sites_cannot_change_anything(http: httpx.Client, headers: dict[str, str]) -> None:
    response = http.post("/v1/graphs", json=GRAPH, headers=headers)
    assert (response.status_code, response.json()["code"]) == (403, "origin_not_allowed")
    assert http.get("/v1/graphs", headers=headers).status_code == 200


def test_the_servers_own_pages_and_programs_can(http: httpx.Client) -> None:
    own = {"Origin": str(http.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert http.post("/v1/graphs:validate", json=GRAPH, headers=own).status_code == 200
    assert http.post("/v1/graphs:validate", json=GRAPH, headers={"Sec-Fetch-Site": "none"}).status_code == 200


def test_a_key_is_asked_for_where_one_is_set(cramped: Any) -> None:
    http = httpx.Client(base_url=cramped.url, verify=False)
    assert http.get("/healthz").status_code == 200
    assert http.get("/readyz").json() == {"status": "ready"}
    assert http.get("/readyz", headers={"X-API-Key": f"{KEY}x"}).status_code == 401
    for path in ("/v1/graphs", "/metrics", "/openapi.json", "/nowhere"):
        response = http.get(path)
        assert response.status_code == 401
        assert response.headers["www-authenticate"].startswith("Bearer")
    good = [{"Authorization": f"Bearer {KEY}"}, {"Authorization": f"bearer {KEY}"}, {"X-API-Key": KEY}]
    bad = [
        {"Authorization": f"Bearer {KEY}x"},
        {"Authorization": f"Basic {KEY}"},
        {"X-API-Key": KEY[:-1]},
        {"X-API-Key": "x" * 5000},
        {"X-API-Key": "\u00e9"},
    ]
    assert [http.get("/v1/graphs", headers=headers).status_code for headers in good] == [200] * len(good)
    encoded = [{name: value.encode("latin-1") for name, value in headers.items()} for headers in bad]
    assert [http.get("/v1/graphs", headers=headers).status_code for headers in encoded] == [401] * len(bad)
    http.close()


def test_headers_and_paths_have_limits(http: httpx.Client) -> None:
    assert http.get("/healthz", headers={"X": "x" * 70_000}).status_code in (400, 431)
    assert http.get("/healthz", headers={f"X-{index}": "" for index in range(100)}).status_code == 431
    assert http.get("/healthz", params={"x": "x" * 9000}).status_code == 414
