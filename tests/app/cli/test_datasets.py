"""Datasets are stored, described, derived and written to files from the command line."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
import typer

from app.cli.commands import run
from app.cli.datasets import read_condition
from app.cli.output import REFUSED
from tests.conftest import StartServer

CONDITIONS = {
    "age >= 30": ("age", ">=", 30),
    "Preis (EUR)<2.5": ("Preis (EUR)", "<", 2.5),
    "sex == female": ("sex", "==", "female"),
    'code = "01"': ("code", "==", "01"),
    "flag != true": ("flag", "!=", True),
    'port in ["C", "S"]': ("port", "in", ["C", "S"]),
    "half price not_in [1, 2]": ("half price", "not_in", [1, 2]),
    "age missing": ("age", "missing", None),
    " age present ": ("age", "present", None),
}


@pytest.mark.parametrize(("text", "condition"), CONDITIONS.items())
def test_conditions_are_read(text: str, condition: tuple[str, str, object]) -> None:
    assert read_condition(text) == condition


@pytest.mark.parametrize("text", ["", "age", "== 3", "age like x"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        read_condition(text)


def test_a_table_is_stored_derived_and_written_to_files(
    start_server: StartServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ADJOINT_URL", start_server().url)

    def adjoint(*arguments: str, status: int = 0) -> list[str]:
        assert run(["datasets", *arguments]) == status, capsys.readouterr()
        return capsys.readouterr().out.splitlines()

    file = tmp_path / "rows.csv"
    file.write_text("id;größe;answer\n" + "".join(f"{k};{k / 4};{'yes' if k % 3 else '?'}\n" for k in range(30)))
    [stored] = adjoint("upload", str(file), "--delimiter", ";", "--missing", "?", "--name", "thirty")
    train, test = adjoint("split", stored, "--test", "10", "--seed", "3")
    [chosen] = adjoint("select", stored, "--where", "id >= 27", "--where", "answer present")
    [joined] = adjoint("join", train, test)
    [longer] = adjoint("append", joined, str(file), "--columns", "id:int64,größe:float32,answer:class")
    shown = {id_: json.loads("\n".join(adjoint("show", id_, "--json"))) for id_ in (stored, chosen, joined, longer)}
    assert [shown[id_]["rows"] for id_ in (stored, chosen, joined, longer)] == [30, 2, 30, 60]
    for format in ("csv", "parquet", "arrow", "npz"):
        path = tmp_path / f"chosen.{format}"
        adjoint("download", chosen, str(path))
        [again] = adjoint("upload", str(path))
        columns = json.loads("\n".join(adjoint("show", again, "--json")))["columns"]
        assert [each["label"] for each in columns] == ["id", "größe", "answer"]
    arrays = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
    assert arrays["id"].tolist() == [28, 29]
    assert any("answer" in line for line in adjoint("profile", stored, "--target", "answer"))
    assert adjoint("profile", stored, "--json")
    adjoint("download", chosen, str(tmp_path / "chosen.xlsx"), status=REFUSED)
    adjoint("select", chosen, "--where", "id", status=REFUSED)


@pytest.mark.parametrize(
    "arguments",
    [
        ("datasets", "upload"),
        ("datasets", "append", "ds_00000000000000000000000000"),
        ("evaluate", "fit_00000000000000000000000000"),
    ],
)
@pytest.mark.parametrize(("name", "advice"), [("sheet.xlsx", "CSV UTF-8"), ("rows.txt", "endings")])
def test_a_file_of_another_format_is_refused_with_advice(
    arguments: tuple[str, ...],
    name: str,
    advice: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    file = tmp_path / name
    file.write_bytes(b"PK\3\4")
    # Nothing listens there: the file is refused before a request is sent.
    monkeypatch.setenv("ADJOINT_URL", "http://127.0.0.1:9")
    status = run([*arguments, str(file)])
    assert status == 2
    assert advice in " ".join(capsys.readouterr().err.replace("│", " ").split())
