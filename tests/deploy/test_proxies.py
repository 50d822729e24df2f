"""The examples of reverse proxies let through what the server takes, no more, and wait as long as it may take."""

import re
from pathlib import Path

import pytest

from app.config.settings import Settings

ROOT = Path(__file__).parents[2]
NGINX, CADDY = ((ROOT / "deploy" / name).read_text("utf-8") for name in ("nginx.conf", "Caddyfile"))
EXAMPLES = {"nginx.conf": NGINX, "Caddyfile": CADDY}
DEFAULTS = {name: field.default for name, field in Settings.model_fields.items()}
LIMITS = ("max_json_bytes", "max_upload_bytes", "max_step_bytes")
MIB = 1024**2


def block(text: str, head: str) -> str:
    """Return what stands in braces after `head`."""
    start = text.index("{", text.index(head) + len(head) - 1)
    depth = 0
    for place, sign in enumerate(text[start:], start):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if not depth:
            return text[start:place]
    raise AssertionError(f"the block {head!r} has no end")


def seconds(text: str, directive: str) -> int:
    number, unit = re.search(rf"^\s*{directive} +(\d+)([sm]);?$", text, re.MULTILINE).groups()
    return int(number) * {"s": 1, "m": 60}[unit]


@pytest.mark.parametrize("name", EXAMPLES)
def test_braces_are_balanced_and_settings_exist(name):
    code = re.sub(r"#.*", "", EXAMPLES[name])
    assert code.count("{") == code.count("}") > 0
    named = {found.lower() for found in re.findall(r"ADJOINT_([A-Z_]+)", EXAMPLES[name])}
    assert {*LIMITS, "allowed_hosts", "step_seconds", "trusted_proxies"} <= named <= Settings.model_fields.keys()


def test_bodies_may_be_as_large_as_the_server_takes_them():
    nginx = [int(size) * MIB for size in re.findall(r"client_max_body_size (\d+)m;", NGINX)]
    units = {"MiB": MIB, "GiB": 1024 * MIB}
    caddy = [int(size) * units[unit] for size, unit in re.findall(r"max_size (\d+)([MG]iB)", CADDY)]
    assert sorted(nginx) == sorted(caddy) == sorted(DEFAULTS[name] for name in LIMITS)


def test_slow_clients_have_deadlines():
    for directive in ("client_header_timeout", "client_body_timeout", "send_timeout", "keepalive_timeout"):
        assert 0 < seconds(NGINX, directive) <= 120
    for directive in ("read_header", "read_body", "idle"):
        assert 0 < seconds(CADDY, directive) <= 600
    assert "limit_conn adjoint_connections" in NGINX


def test_headers_may_be_no_larger_than_the_server_takes_them():
    number, size = re.search(r"large_client_header_buffers (\d+) (\d+)k;", NGINX).groups()
    assert int(number) * int(size) * 1024 <= DEFAULTS["max_header_bytes"]
    assert int(re.search(r"max_header_size (\d+)KB", CADDY)[1]) * 1000 <= DEFAULTS["max_header_bytes"]


def test_events_and_uploads_are_not_held_back():
    events = block(NGINX, "location ~ ^/v1/fits/[^/]+/events$ {")
    assert "proxy_buffering off;" in events
    assert seconds(events, "proxy_read_timeout") > DEFAULTS["event_heartbeat_seconds"]
    for head in ("location ~ ^/v1/(datasets|checkpoints) {", "location /v1/sessions {"):
        assert "proxy_request_buffering off;" in block(NGINX, head)
    assert "flush_interval -1" in block(CADDY, "reverse_proxy {$UPSTREAM:127.0.0.1:8000} {")
    assert not re.search(r"^\s*write ", CADDY, re.MULTILINE)


def test_the_longest_step_of_a_session_is_waited_for():
    assert seconds(block(NGINX, "location /v1/sessions {"), "proxy_read_timeout") > DEFAULTS["step_seconds"]
    assert seconds(CADDY, "response_header_timeout") > DEFAULTS["step_seconds"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_connections_are_encrypted_and_the_host_is_passed_on(name):
    protocols = {"nginx.conf": r"ssl_protocols\s+TLSv1\.2 TLSv1\.3;", "Caddyfile": r"protocols tls1\.2 tls1\.3"}
    assert re.search(protocols[name], EXAMPLES[name])
    assert "Strict-Transport-Security" in EXAMPLES[name]
    assert name == "Caddyfile" or "proxy_set_header Host $host;" in NGINX


def test_the_address_of_the_client_is_written_again_and_nothing_else_about_it_is_passed_on():
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in NGINX
    assert "header_up X-Forwarded-For {remote_host}" in CADDY
    for name in ("X-Forwarded-Host", "Forwarded"):
        assert f'proxy_set_header {name} "";' in NGINX
        assert f"header_up -{name}\n" in CADDY
