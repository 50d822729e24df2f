"""What a server holds is listed, shown, steered, used and deleted from the command line."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint_client import Client
from app.cli.commands import run
from app.cli.output import FAILED, REFUSED
from app.cli.resources import RESOURCES
from tests.conftest import StartServer

GRAPH = {
    "name": "line",
    "inputs": {"x": ["batch", 2], "y": ["batch"]},
    "parameters": {"w": {"shape": [2], "init": {"kind": "zeros"}}},
    "program": "pred = x @ w\nloss = mean((pred - y) ** 2)",
    "outputs": ["pred"],
}
ROWS = {"x": np.ones((4, 2), "float32"), "y": np.ones(4, "float32")}


class CommandLine:
    """Runs commands and returns what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.errors = ""

    def __call__(self, *arguments: str, status: int = 0) -> str:
        assert run(arguments) == status, self._capsys.readouterr()
        printed, self.errors = self._capsys.readouterr()
        return printed

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))


@pytest.fixture
def adjoint(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    for name in ("ADJOINT_KEY", "ADJOINT_KEY_FILE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return CommandLine(capsys)


def test_everything_is_listed_shown_steered_used_and_deleted(
    start_server: StartServer, adjoint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_server(workers=1)
    monkeypatch.setenv("ADJOINT_URL", server.url)
    for resource in RESOURCES:
        assert adjoint(resource.name) == ""
        assert adjoint.errors == f"no {resource.name}\n"
        assert adjoint.json(resource.name) == []
    with Client(server.url) as client:
        graph, dataset = client.graph(GRAPH), client.upload(ROWS, name="ones")
        fits = [client.fit(graph, dataset, steps=2, labels={"run": str(number)}) for number in range(3)]
        for each in fits:
            each.wait()
        session = client.session(graph, keep=True)
        checkpoint = fits[2].checkpoint()
    ids = [each.id for each in reversed(fits)]
    missing = "fit_01m7zf52szd12smkbsrf90gg57"
    one_of_each = (ids[0], dataset.id, graph.id, checkpoint.id, session.id)
    for resource, identifier in zip(RESOURCES, one_of_each, strict=True):
        listed = adjoint(resource.name, "list")
        titles, *lines = listed.splitlines()
        assert titles.split()[0] == "ID"
        assert titles.split()[-1] == "AGE"
        assert any(line.startswith(f"{identifier}  ") and line.endswith(" s") for line in lines)
        assert f" {identifier}\n" in adjoint(resource.name, "show", identifier)
        assert adjoint.json(resource.name, "show", identifier)["id"] == identifier
        assert identifier in [found["id"] for found in adjoint.json(resource.name)]

    assert adjoint("fits", "-q").split() == ids
    assert adjoint("fits", "-q", "--limit", "2").split() == ids[:2]
    assert len(adjoint("fits", "--limit", "2").splitlines()) == 3
    assert adjoint.errors.startswith("the first 2 fits")
    assert adjoint("fits", "list", "-q", "--all", "--label", "run:1").split() == [ids[1]]
    assert adjoint("fits", "--state", "running") == ""
    assert adjoint("checkpoints", "-q", "--fit", ids[0]).split()[0] == checkpoint.id
    assert "0.1.0" in adjoint("system")
    assert adjoint.json("system")["queue"] == {"queued": 0, "running": 0}

    rows = tmp_path / "rows.csv"
    rows.write_text("name,a,b\nfirst,1,1\nsecond,2,2\n")
    predicted = adjoint.json("predict", ids[0], str(rows), "--columns", "a..b")["pred"]
    assert predicted[1] == pytest.approx(2 * predicted[0])
    table = adjoint("predict", checkpoint.id, str(rows), "--columns", "a,b").splitlines()
    assert (table[0].split(), len(table)) == (["ROW", "pred"], 3)
    monkeypatch.setattr("sys.stdin", io.StringIO('{"x": [[1, 1]]}'))
    assert adjoint("predict", ids[0], "-", "--output", str(tmp_path / "out.npy")) == ""
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), predicted[:1])
    table = ["--columns", "name:class,x:float32[2]=a..b", "--id-column", "name"]
    assert adjoint("predict", checkpoint.id, str(rows), *table, "-o", str(tmp_path / "out.csv")) == ""
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "name,pred"
    assert adjoint.json("predict", checkpoint.id, str(rows), *table)["name"] == ["first", "second"]
    found = adjoint.json("evaluate", checkpoint.id, dataset.id, "--metric", "mae")
    assert (found["rows"], list(found["metrics"])) == (found["rows"], ["loss", "mae"])
    assert adjoint("evaluate", ids[0], dataset.id).startswith(f"rows: {found['rows']}\nloss: ")

    assert adjoint("extend", ids[0], "--steps", "100000000") == f"{ids[0]} queued\n"
    assert adjoint("pause", session.id) == f"{session.id} paused\n"
    assert adjoint("resume", session.id) == f"{session.id} active\n"
    assert states(adjoint.json("pause", session.id)) == [(session.id, "paused")]
    assert states(adjoint.json("resume", session.id)) == [(session.id, "active")]
    assert adjoint("cancel", ids[0], ids[1], status=FAILED).startswith(f"{ids[0]} ")
    assert f"adjoint: {ids[1]}: 409" in adjoint.errors
    ((extended, state),) = states(adjoint.json("extend", ids[1], "--steps", "100000000"))
    assert (extended, state) == (ids[1], "queued")
    cancelled = json.loads(adjoint("cancel", ids[1], missing, "--json", status=FAILED))
    assert [each["id"] for each in cancelled] == [ids[1]]
    assert f"adjoint: {missing}: 404" in adjoint.errors
    with Client(server.url) as client:
        client.get_fit(ids[0]).wait()
        client.get_fit(ids[1]).wait()

    assert adjoint("fits", "delete", ids[0], status=REFUSED) == ""
    assert "--yes" in adjoint.errors
    assert adjoint("fits", "delete", "--yes", ids[1], missing, ids[2], status=FAILED).split() == [
        ids[1], "deleted", ids[2], "deleted",
    ]  # fmt: skip
    assert adjoint.errors.startswith(f"adjoint: {missing}: 404 ")
    *_, oldest = adjoint("checkpoints", "-q", "--fit", ids[0]).split()
    assert states(adjoint.json("checkpoints", "delete", "-y", oldest)) == [(oldest, "deleted")]
    assert adjoint("sessions", "delete", "-y", session.id) == f"{session.id} deleted\n"
    stdin = io.StringIO("n\n")
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", stdin)
    adjoint("datasets", "delete", dataset.id, status=1)
    assert f"{dataset.id} will be deleted" in adjoint.errors


def states(documents: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["id"], each["state"]) for each in documents]


FAULTS = {
    "an option before its command": (["fits", "--json", "show", "fit_1"], REFUSED, "put --json behind 'show'"),
    "epochs and steps": (["extend", "fit_1", "--epochs", "1", "--steps", "1"], REFUSED, "and not both"),
    "a file of another kind": (["predict", "fit_1", "rows.txt"], REFUSED, "is none of csv, json"),
    "a file that is not there": (["predict", "fit_1", "rows.csv"], REFUSED, "cannot read rows.csv"),
    "no scheme": (["system", "--url", "train.example:8000"], REFUSED, "write http://train.example:8000"),
    "another scheme": (["fits", "--url", "ftp://x"], REFUSED, "'ftp://x' is no address of a server"),
    "a key file that is not there": (["fits", "--key-file", "none"], REFUSED, "cannot read the key from none"),
    "another layer": (["layers", "liner"], FAILED, "did you mean linear"),
    "another optimizer": (["optimizers", "zzz"], FAILED, "`adjoint optimizers` lists them"),
}


@pytest.mark.parametrize(("arguments", "status", "named"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_reported_without_a_server(
    arguments: list[str], status: int, named: str, adjoint: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert adjoint(*arguments, status=status) == ""
    assert named in adjoint.errors


def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(
    adjoint: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJOINT_KEY", "two words")
    assert adjoint("fits", status=REFUSED) == ""
    assert "ADJOINT_KEY holds no key" in adjoint.errors
    assert "two words" not in adjoint.errors


def test_catalogues_are_listed_and_described(adjoint: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, adjoint("layers").splitlines())) <= 80
    assert "  weight_decay: a number (default 0.01)" in adjoint("optimizers", "adamw").splitlines()
    for catalogue, key, name in (
        ("layers", "kind", "relu"),
        ("optimizers", "kind", "adamw"),
        ("ops", "name", "matmul"),
    ):
        assert adjoint.json(catalogue, name)[key] == name
        assert name in [entry[key] for entry in adjoint.json(catalogue)]
