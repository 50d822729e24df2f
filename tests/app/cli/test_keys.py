"""Keys are made while a server runs, and while none does; the audit trail is checked likewise."""

import io
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.cli.audit import BROKEN
from app.cli.commands import run
from app.cli.output import REFUSED
from app.store.database import FILE_NAME
from tests.support.server import StartServer

KEY = re.compile(r"adj_[0-9a-z]{26}_[0-9a-f]{64}\n")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ADJOINT_URL", "ADJOINT_KEY", "ADJOINT_KEY_FILE", "ADJOINT_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_keys_are_made_offline_and_beside_the_running_server(
    start_server: StartServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ["--data-dir", str(tmp_path / "data")]
    assert run(["keys", "create", "--name", "boss", "--scopes", "admin", "--yes", *data]) == 0
    admin, said = capsys.readouterr()
    assert KEY.fullmatch(admin)
    assert admin.strip() not in said

    # The key makes it safe to bind another address, without any in the settings.
    server = start_server(tmp_path / "data", host="0.0.0.0", allowed_hosts="127.0.0.1", workers=1)
    url = re.sub(r"//[\d.]+:", "//127.0.0.1:", server.url)
    assert run(["keys", "list", *data]) == REFUSED
    assert "--url" in capsys.readouterr().err
    assert run(["keys", "list", "--url", url]) == 1
    assert "401" in capsys.readouterr().err

    monkeypatch.setenv("ADJOINT_URL", url)
    monkeypatch.setenv("ADJOINT_KEY", admin.strip())
    assert run(["keys", "create", "--name", "ci", "--scopes", "read, train", "--expires", "2100-01-01T00:00:00Z"]) == 0
    train, said = capsys.readouterr()
    assert KEY.fullmatch(train)
    assert f"a key of the server at {url}" in said
    key_id = said.partition(":")[0]
    assert run(["keys", "revoke", key_id]) == 0
    capsys.readouterr()
    assert run(["keys", "list"]) == 0
    online = capsys.readouterr().out
    printed = rf"^{key_id}  default  read,train +ci \(made .*, expires 2100-.*, revoked .*\)$"
    assert re.search(printed, online, re.MULTILINE)
    assert run(["audit", "verify"]) == 0
    verdict = capsys.readouterr().out
    assert verdict.startswith("3 entries, unbroken")
    server.stop()

    monkeypatch.delenv("ADJOINT_URL")
    assert run(["audit", "verify", *data]) == 0
    assert capsys.readouterr().out == verdict
    with closing(sqlite3.connect(tmp_path / "data" / FILE_NAME)) as tampered:
        tampered.execute("UPDATE audit SET key_id = 'key_of_another' WHERE seq = 2")
        tampered.commit()
    assert run(["audit", "verify", *data]) == BROKEN
    assert "entry 2" in capsys.readouterr().err


FAULTS = {
    "another scope": (["create", "--name", "a", "--scopes", "root"], "'read', 'train' or 'admin'"),
    "a first key without admin": (["create", "--name", "a"], "admin"),
    "a moment that is none": (["create", "--name", "a", "--scopes", "admin", "--yes", "--expires", "soon"], "offset"),
    "a first key that nobody agreed to": (["create", "--name", "a", "--scopes", "admin"], "--yes"),
    "a reset that nobody agreed to": (["reset"], "--yes"),
    "a key that is not there": (["revoke", "key_01m7zf52szd12smkbsrf90gg57"], "there is no key"),
}


@pytest.mark.parametrize(("arguments", "named"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_reported_in_a_line(
    arguments: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["keys", *arguments, "--data-dir", str(tmp_path)]) == REFUSED
    printed, errors = capsys.readouterr()
    assert printed == ""
    assert errors.startswith("adjoint: ")
    assert errors.count("\n") == 1
    assert named in errors


def test_the_first_key_is_asked_for_and_a_reset_opens_the_server(
    start_server: StartServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_server(tmp_path / "data", workers=1)
    data, online = ["--data-dir", str(tmp_path / "data")], ["--url", server.url]
    first = ["keys", "create", "--name", "boss", "--scopes", "admin"]
    assert run([*first, *online]) == REFUSED
    assert "the first key closes the server " in capsys.readouterr().err
    assert server.http.get("/v1/keys").json()["data"] == []
    for answer, status in (("n\n", 1), ("y\n", 0)):
        stdin = io.StringIO(answer)
        monkeypatch.setattr(stdin, "isatty", lambda: True)
        monkeypatch.setattr("sys.stdin", stdin)
        assert run([*first, *online]) == status
    key = {"X-API-Key": capsys.readouterr().out.strip()}
    assert server.http.get("/v1/graphs").status_code == 401
    another = server.http.post("/v1/keys", json={"name": "ci", "scopes": ["read"]}, headers=key)
    assert another.status_code == 201
    assert run(["keys", "reset", "--yes", *data]) == REFUSED
    assert "another server is using" in capsys.readouterr().err
    server.stop()
    assert run(["keys", "reset", "--yes", *data]) == 0
    assert capsys.readouterr().out.startswith("2 keys deleted")
    assert run(["audit", "verify", *data]) == 0
    assert start_server(tmp_path / "data", workers=1).http.get("/v1/graphs").status_code == 200


def test_a_data_directory_that_cannot_be_made_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert run(["keys", "list", "--data-dir", str(tmp_path / "file")]) == REFUSED
    assert "cannot use the data directory" in capsys.readouterr().err
