import pytest

from app.domain.access import Scope, expand_scopes, format_key, hash_secret, new_secret, parse_key
from app.domain.ids import new_id

SECRET_DIGITS = 64


def test_a_formatted_key_parses_to_its_id_and_secret() -> None:
    key_id, secret = new_id("key"), new_secret()
    key = format_key(key_id, secret)
    assert key == f"adj_{key_id.removeprefix('key_')}_{secret}"
    assert parse_key(key.encode()) == (key_id, secret.encode())


def test_secrets_have_256_bits_and_are_never_the_same() -> None:
    secrets = {new_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert {len(secret) for secret in secrets} == {SECRET_DIGITS}
    assert len(bytes.fromhex(new_secret())) * 8 == 256


def test_what_is_kept_of_a_secret_is_its_sha_256() -> None:
    assert hash_secret(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"adj",
        b"adj__",
        b"adj_x_y",
        b"key_01m7zf52szd12smkbsrf90gg57_aa",
        b"adj_01M7ZF52SZD12SMKBSRF90GG57_aa",
        b"adj_\xff_aa",
        b"adj_01m7zf52szd12smkbsrf90gg57_" + b"a" * 256,
    ],
)
def test_what_is_no_key_is_not_looked_at(sent: bytes) -> None:
    assert parse_key(sent) is None


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        ([], ""),
        (["read"], "read"),
        (["train"], "read train"),
        (["admin"], "read train admin"),
        (["read", "admin"], "read train admin"),
    ],
)
def test_a_scope_includes_those_before_it(scopes: list[str], allowed: str) -> None:
    assert expand_scopes(scopes) == {Scope(name) for name in allowed.split()}


def test_a_scope_that_does_not_exist_allows_nothing() -> None:
    with pytest.raises(ValueError, match="root"):
        expand_scopes(["read", "root"])
