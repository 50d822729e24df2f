"""Behind a reverse proxy it is the client's address that counts, and nobody can choose another for himself."""

import ipaddress
from typing import Any

import httpx
import pytest

from app.http.client_address import HOPS_MAX, client_address
from tests.support.server import StartServer

PROXIES = [ipaddress.ip_network(each) for each in ("10.0.0.0/24", "192.0.2.7", "2001:db8::/64")]
RIGHT = "the-right-key-of-these"
CLIENT = "203.0.113.9"

CASES: dict[str, tuple[str, list[str], str]] = {
    "a stranger who says so": ("198.51.100.1", [CLIENT], "198.51.100.1"),
    "loopback which is not trusted": ("127.0.0.1", [CLIENT], "127.0.0.1"),
    "a proxy": ("10.0.0.3", [CLIENT], CLIENT),
    "a proxy that is mapped into IPv6": ("::ffff:10.0.0.3", [CLIENT], CLIENT),
    "a proxy that says nothing": ("10.0.0.3", [], "10.0.0.3"),
    "two proxies": ("10.0.0.3", [f"{CLIENT}, 192.0.2.7"], CLIENT),
    "what the client has put before": ("10.0.0.3", [f"8.8.8.8, {CLIENT}"], CLIENT),
    "nonsense that the client has put before": ("10.0.0.3", [f"x;\t<>,,{CLIENT}"], CLIENT),
    "a proxy that the client claims to be": ("10.0.0.3", [f"10.0.0.9,{CLIENT},10.0.0.4"], CLIENT),
    "several headers are one list": ("10.0.0.3", ["8.8.8.8", CLIENT, "10.0.0.4"], CLIENT),
    "IPv6": ("2001:db8::1", ["2001:DB8:1:0::5"], "2001:db8:1::5"),
    "an address that is mapped into IPv6": ("10.0.0.3", [f"::ffff:{CLIENT}"], CLIENT),
    "proxies alone": ("10.0.0.3", ["10.0.0.5, 10.0.0.4"], "10.0.0.3"),
    "more hops than there are": ("10.0.0.3", [", ".join([CLIENT, *["10.0.0.4"] * HOPS_MAX])], "10.0.0.3"),
    **{
        f"no address: {text!r}": ("10.0.0.3", [f"{CLIENT}, {text}"], "10.0.0.3")
        for text in (
            *("", "unknown", "_hidden", "localhost", "203.0.113.9:80", "[2001:db8:1::5]", "fe80::1%eth0", "1.2.3"),
            *("203.0.113.09", "0x7f.1", "2130706433", "\u00b2.0.0.1", "1.2.3.4 5.6.7.8", "for=1.2.3.4", "1" * 500),
        )
    },
}


@pytest.mark.parametrize(("peer", "lists", "expected"), CASES.values(), ids=CASES)
def test_the_last_that_is_no_proxy_is_the_client(peer: str, lists: list[str], expected: str) -> None:
    headers = [(b"host", b"localhost"), *((b"x-forwarded-for", each.encode("latin-1")) for each in lists)]
    assert client_address(peer, headers, PROXIES) == expected


def entered(http: httpx.Client) -> list[str]:
    """Return the addresses in the audit trail, the latest first."""
    entries: list[dict[str, Any]] = http.get("/v1/audit", headers={"X-API-Key": RIGHT}).json()["data"]
    return [entry["address"] for entry in entries]


def test_clients_of_a_trusted_proxy_are_distinguished(start_server: StartServer) -> None:
    """Who guesses keys has to wait until he has the right one; and the trail names clients."""
    http = start_server(
        api_key=RIGHT, workers=1, failed_logins_per_minute=2, trusted_proxies="10.0.0.0/8, 127.0.0.1"
    ).http
    guesser, other = {"X-Forwarded-For": f"8.8.8.8, {CLIENT}"}, {"X-Forwarded-For": "203.0.113.10"}
    wrong = [http.post("/v1/graphs", headers={"X-API-Key": "wrong", **guesser}).status_code for _ in range(3)]
    assert wrong == [401, 401, 429]
    assert http.get("/v1/graphs", headers={"X-API-Key": "wrong", **other}).status_code == 401
    assert http.get("/v1/graphs", headers={"X-API-Key": RIGHT, **guesser}).status_code == 200
    assert http.post("/v1/graphs:validate", json={}, headers={"X-API-Key": RIGHT, **other}).status_code == 422
    assert entered(http) == ["203.0.113.10", CLIENT, CLIENT]


def test_nobody_else_can_choose_an_address_or_a_name(start_server: StartServer) -> None:
    http = start_server(api_key=RIGHT, workers=1, failed_logins_per_minute=2, trusted_proxies="10.0.0.0/8").http
    for number in range(2):
        lies = dict.fromkeys(("X-Forwarded-For", "X-Real-IP", "CF-Connecting-IP"), f"203.0.113.{number}")
        lies["Forwarded"] = f"for=203.0.113.{number};host=evil.example;proto=https"
        assert http.post("/v1/graphs", headers={"X-API-Key": "wrong", **lies}).status_code == 401
    waits = http.get("/v1/graphs", headers={"X-API-Key": "wrong", "X-Forwarded-For": CLIENT})
    assert waits.json()["code"] == "too_many_failed_logins"
    named = http.get("/healthz", headers={"Host": "evil.example", "X-Forwarded-Host": "localhost"})
    assert named.json()["code"] == "host_not_allowed"
