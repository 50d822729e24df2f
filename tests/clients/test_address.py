"""Where the server is and with which key, and what an import of the package loads."""

import ssl
import subprocess
import sys

import pytest

from adjoint_client import Client
from adjoint_client._sync.transport import _without_tls
from adjoint_client.address import Address, find_key, find_url


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("ADJOINT_URL", "ADJOINT_KEY", "ADJOINT_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:8000", Address("127.0.0.1", 8000, False, "")),
        ("https://train.example/adjoint/", Address("train.example", 443, True, "/adjoint")),
        ("http://[::1]:80", Address("::1", 80, False, "")),
        ("127.0.0.1:8000", Address("127.0.0.1", 8000, False, "")),
        ("localhost:8000", Address("localhost", 8000, False, "")),
        ("[::1]:8000", Address("::1", 8000, False, "")),
        (None, Address("127.0.0.1", 8000, False, "")),
    ],
)
def test_addresses_are_read(url, address):
    assert Address.of(find_url(url)) == address


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("train.example:8000", "write http://train.example:8000 or https://train.example:8000"),
        ("ftp://train.example", "write it as http://"),
        ("http://", "write it as http://"),
        ("", "write http"),
        ("http://train.example:80000", "'http://train.example:80000' is no address .*Port out of range"),
        ("http://[::1", "write it as http://"),
    ],
)
def test_an_address_of_another_kind_is_refused_with_what_to_write(url, hint):
    with pytest.raises(ValueError, match=hint):
        Client(url)


def test_arguments_come_before_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("ADJOINT_URL", "http://train.example")
    monkeypatch.setenv("ADJOINT_KEY", "from-environment")
    assert (find_url(None), find_key(None)) == ("http://train.example", "from-environment")
    assert (find_url("http://other.example"), find_key("given"), find_key("")) == (
        "http://other.example",
        "given",
        None,
    )
    file = tmp_path / "key"
    file.write_text("from-file\n")
    monkeypatch.setenv("ADJOINT_KEY_FILE", str(file))
    assert find_key(None) == "from-file", "as on the command line, the file comes before the key"
    monkeypatch.setenv("ADJOINT_KEY_FILE", str(tmp_path))
    with pytest.raises(ValueError, match="cannot read the key from"):
        find_key(None)


@pytest.mark.parametrize("key", ["a\r\nX-Other: b", "ключ", "two words"])
def test_a_key_cannot_smuggle_a_header(key):
    with pytest.raises(ValueError, match="holds no key") as caught:
        Client("http://train.example", api_key=key)
    assert key not in str(caught.value)


def test_options_of_httpx_are_passed_on(url):
    with Client(url, timeout=7.0, http={"headers": {"User-Agent": "mine/1"}}) as client:
        assert client._transport._http.timeout.read == 7.0
        assert client._transport._http.headers["user-agent"] == "mine/1"
        assert client.call("check_health")["status"] == "ok"


def test_certificates_are_loaded_where_tls_may_be_spoken():
    assert _without_tls("https://train.example", {}) == {}
    assert _without_tls("http://train.example", {"follow_redirects": True}) == {}
    context = _without_tls("http://train.example", {})["verify"]
    assert (context.verify_mode, context.check_hostname, context.get_ca_certs()) == (ssl.CERT_REQUIRED, True, [])


def test_an_import_loads_nothing_heavy():
    heavy = ["numpy", "httpx", "rich", "h11", "asyncio", "pandas", "polars", "matplotlib", "adjoint_client._sync"]
    program = (
        "import sys, adjoint_client\n"
        f"print([name for name in {heavy} if name in sys.modules])\n"
        "from adjoint_client import *\n"
        "print([name for name in adjoint_client.__all__ if name not in globals()])\n"
        "print([name for name in ('numpy', 'httpx', 'rich') if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n[]\n[]\n"
