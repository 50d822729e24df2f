from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from app.config.settings import Settings, is_loopback


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"ADJOINT_{name.upper()}", raising=False)


def test_the_defaults_are_safe_and_documented() -> None:
    settings = Settings()
    assert is_loopback(settings.host)
    assert settings.api_key is None
    assert settings.data_dir == Path("adjoint-data")
    assert settings.allowed_hosts == ("localhost", "127.0.0.1", "[::1]")
    assert settings.workers >= 1
    assert all(field.description for field in Settings.model_fields.values())


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("host", "localhost", "localhost"),
        ("port", "0", 0),
        ("data_dir", "elsewhere", Path("elsewhere")),
        ("workers", "3", 3),
        ("api_key", "k" * 20, SecretStr("k" * 20)),
        ("api_key", "", None),
        ("allowed_hosts", "example.org, 127.0.0.1,", ("example.org", "127.0.0.1")),
        ("trusted_proxies", "10.0.0.2, 2001:db8::/64", ("10.0.0.2", "2001:db8::/64")),
        ("max_json_bytes", "2048", 2048),
        ("metrics_flush_seconds", "0.25", 0.25),
        ("log_level", "debug", "debug"),
        ("log_format", "json", "json"),
        ("fair_share_label", "owner", "owner"),
    ],
)
def test_the_environment_sets_a_field(name: str, text: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"ADJOINT_{name.upper()}", text)
    assert getattr(Settings(), name) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", -1),
        ("port", 65536),
        ("workers", 0),
        ("max_queue", 0),
        ("drain_seconds", -1),
        ("log_level", "loud"),
        ("log_format", "xml"),
        ("fair_share_label", "two words"),
        ("host", ""),
        ("api_key", "two words"),
        ("api_key", "clé"),
        ("trusted_proxies", "proxy.local"),
        ("trusted_proxies", "10.0.0.1/24"),
        ("trusted_proxies", "0.0.0.0/0"),
        ("prot", 80),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        Settings(**{name: value})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_another_address_is_refused_without_allowed_hosts(host: str) -> None:
    for settings in ({}, {"api_key": SecretStr("k" * 20)}, {"allowed_hosts": ()}):
        with pytest.raises(ValidationError, match=r"refuses another address without names.*ADJOINT_ALLOWED_HOSTS.*key"):
            Settings(host=host, **settings)
    assert Settings(host=host, allowed_hosts=("example.org",)).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost", "::1", "[::1]"])
def test_loopback_needs_no_key(host: str) -> None:
    assert Settings(host=host).api_key is None


def test_the_key_is_never_printed() -> None:
    settings = Settings(api_key=SecretStr("topsecret-topsecret"))
    assert "topsecret" not in repr(settings)
    with pytest.raises(ValidationError) as caught:
        Settings(api_key=SecretStr("topsecret topsecret"))
    assert "topsecret" not in str(caught.value)


def test_the_key_may_be_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text("k" * 20 + "\n")
    monkeypatch.setenv("ADJOINT_API_KEY_FILE", str(file))
    monkeypatch.setenv("ADJOINT_API_KEY", "")
    assert Settings().api_key == SecretStr("k" * 20)
    monkeypatch.setenv("ADJOINT_API_KEY", "another" * 3)
    with pytest.raises(ValidationError, match="set one of them"):
        Settings()


@pytest.mark.parametrize("content", [None, b"", b"\n", b"top secret", b"topsecret", b"\xff\xfe"])
def test_a_file_without_a_key_is_refused(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ValidationError, match="ADJOINT_API_KEY_FILE") as caught:
        Settings(api_key_file=file)
    assert "secret" not in str(caught.value)


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().port = 1
