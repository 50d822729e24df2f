import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint_client import Client
from app.__main__ import main
from app.cli.demo import dataset_path, graph_path
from app.cli.serve import REFUSED
from app.store.database import Database
from tests.support.patience import PATIENCE
from tests.support.server import run_command
from tests.support.server import serving as running

ROOT = Path(__file__).parents[2]
KEY = "not-so-secret-as-that"
UNKNOWN = "fit_0000000000000000000000000z"
READY = re.compile(r"Adjoint listening on http://127\.0\.0\.1:\d+\n")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def keyed_url(data_dir):
    """The address of a server that wants a key."""
    with running(data_dir, api_key=KEY) as server:
        yield server.url


@pytest.fixture
def url(keyed_url, monkeypatch):
    """The same, with the key in the environment."""
    monkeypatch.setenv("ADJOINT_KEY", KEY)
    return keyed_url


@pytest.fixture
def files(tmp_path):
    """A graph and data to fit it to."""
    graph, data = tmp_path / "line.json", tmp_path / "points.csv"
    graph.write_text(
        json.dumps(
            {
                "inputs": {"x": ["batch"], "y": ["batch"]},
                "parameters": {"w": [], "b": []},
                "program": "loss = mean((w * x + b - y) ** 2)",
            }
        )
    )
    data.write_text("x,height\n" + "".join(f"{x / 4},{3 * x / 4 + 2}\n" for x in range(16)))
    return [str(graph), str(data), "--feed", "y=height"]


def serving(*arguments, errors=subprocess.PIPE, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "app", "serve", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )


def refused(*arguments, **environment):
    """Status, output and errors of a server that is not to start."""
    return run_command(["serve", *map(str, arguments)], {**os.environ, **environment})


def test_a_server_says_one_line_when_it_is_ready_and_stops_cleanly_at_ctrl_c(tmp_path):
    with serving("--port", 0, "--data-dir", tmp_path, "--workers", 1) as process:
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=PATIENCE)
    assert READY.fullmatch(line), errors
    assert (rest, process.returncode) == ("", 0)
    assert "Traceback" not in errors


def test_a_taken_port_is_refused_in_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, output, errors = refused("--port", port, "--data-dir", tmp_path)
    assert (status, output) == (REFUSED, "")
    assert [line for line in errors.splitlines() if not line.startswith("{")] == [errors.splitlines()[-1]]
    assert f"port {port}" in errors


def test_a_data_directory_in_use_is_refused_in_one_line(url, data_dir):
    status, output, errors = refused("--port", 0, "--data-dir", data_dir)
    assert (status, output) == (REFUSED, "")
    assert errors.startswith("adjoint: another server is using the data directory")
    assert errors.count("\n") == 1


REFUSALS = {
    "a stranger's address without names": (["--host", "0.0.0.0"], "ADJOINT_ALLOWED_HOSTS"),
    "no workers": (["--workers", "0"], "ADJOINT_WORKERS"),
    "a port that does not exist": (["--port", "70000"], "port"),
}


@pytest.mark.parametrize(("arguments", "named"), REFUSALS.values(), ids=REFUSALS)
def test_wrong_settings_are_refused_in_one_line(arguments, named, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ADJOINT_API_KEY", raising=False)
    assert main(["serve", "--data-dir", str(tmp_path), *arguments]) == REFUSED
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("adjoint: ")
    assert errors.count("\n") == 1
    assert named in errors


def test_a_short_key_is_refused_in_one_line(tmp_path):
    status, output, errors = refused("--port", 0, "--data-dir", tmp_path, ADJOINT_API_KEY="fifteen-letters")
    assert (status, output, errors.count("\n")) == (REFUSED, "", 1)
    assert "15 characters, and at least 16" in errors
    assert "adjoint keys create" in errors
    assert "fifteen-letters" not in errors


def test_a_strangers_address_is_refused_without_a_key_in_one_line(tmp_path):
    names = {"ADJOINT_ALLOWED_HOSTS": "example.org", "ADJOINT_API_KEY": ""}
    status, output, errors = refused("--host", "0.0.0.0", "--port", 0, "--data-dir", tmp_path, **names)
    assert (status, output) == (REFUSED, "")
    assert errors.startswith("adjoint: the server refuses another address without a key")
    assert "adjoint keys create" in errors
    assert errors.count("\n") == 1


UNNEEDED = tuple(
    f"{name}."
    for name in (
        "adjoint_client", "alembic", "app.http.forwarding", "app.main.cluster", "app.runner.cluster",
        "app.store.objects.cache", "app.store.objects.client", "app.store.objects.store", "app.store.postgres", "httpx",
        "numba", "obstore", "psycopg", "pyarrow", "ray", "rich", "sqlalchemy.dialects.postgresql", "typer", "xoscar",
    )
)  # fmt: skip
"""What modules begin with that only terminals, migrations, object storage, clusters or some requests need."""


def test_a_server_and_its_fork_server_load_nothing_that_they_do_not_need(tmp_path):
    # The usual case is a start with a data directory that exists.
    Database.open(tmp_path).close()
    loaded, is_ready = set(), False
    with serving("--port", 0, "--data-dir", tmp_path, PYTHONPROFILEIMPORTTIME="1", errors=subprocess.STDOUT) as server:
        while not (is_ready and "app.worker.forking" in loaded):
            line = server.stdout.readline()
            assert line, "the server has ended"
            is_ready = is_ready or READY.fullmatch(line) is not None
            loaded.add(line.rpartition("|")[2].strip())
        server.terminate()
        server.communicate(timeout=PATIENCE)
    assert "app.main.application" in loaded
    assert [name for name in loaded if f"{name}.".startswith(UNNEEDED)] == []


def test_a_graph_and_data_become_a_checkpoint(url, files, tmp_path, capsys):
    output = tmp_path / "line.safetensors"
    arguments = ["--steps", "50", "--optimizer", "sgd", "--lr", "0.1", "--output", str(output), "--url", url]
    assert main(["fit", *files, *arguments]) == 0
    text, errors = capsys.readouterr()
    assert errors == ""
    assert "succeeded after 50 steps" in text
    assert "loss" in text
    assert str(output) in text
    assert output.stat().st_size > 0


def test_a_sweep_shows_its_ranking_and_gives_its_best_checkpoint(url, files, tmp_path, capsys):
    output = tmp_path / "line.safetensors"
    values = ["--sweep", "optimizer.lr=0.001,0.1", "--sweep", "optimizer.kind=sgd,adam"]
    assert main(["fit", *files, "--steps", "20", *values, "--output", str(output), "--url", url]) == 0
    text = capsys.readouterr().out
    ranks = re.findall(
        r"^ +(\d)  (fit_[a-z0-9]{26})  \S+  optimizer.lr=(\S+)  optimizer.kind=(\S+)$", text, re.MULTILINE
    )
    assert [rank for rank, *_ in ranks] == ["1", "2", "3", "4"]
    assert {(lr, kind) for *_, lr, kind in ranks} == {(lr, kind) for lr in ("0.001", "0.1") for kind in ("sgd", "adam")}
    assert output.stat().st_size > 0


def test_a_detached_fit_is_watched_later(url, files, tmp_path, capsys):
    request = tmp_path / "request.json"
    request.write_text('{"labels": {"team": "a"}, "epochs": 3}')
    assert main(["fit", *files, "--request", str(request), "--detach", "--url", url]) == 0
    fit = capsys.readouterr().out.strip()
    assert re.fullmatch(r"fit_[a-z0-9]{26}", fit)
    assert main(["watch", fit, "--url", url]) == 0
    assert f"{fit} succeeded after 3 steps" in capsys.readouterr().out


def test_a_fit_is_bundled_and_replayed(url, files, tmp_path, capsys):
    assert main(["fit", *files, "--steps", "9", "--detach", "--url", url]) == 0
    fit = capsys.readouterr().out.strip()
    assert main(["watch", fit, "--url", url]) == 0
    path = tmp_path / "bundle.json"
    capsys.readouterr()
    assert main(["bundle", fit, "--url", url]) == 0
    printed = capsys.readouterr().out
    assert main(["bundle", fit, "-o", str(path), "--url", url]) == 0
    assert path.read_text() == printed
    for what in (fit, str(path)):
        assert main(["replay", what, "--url", url]) == 0
        assert "equal, bit for bit" in capsys.readouterr().out
    document = json.loads(printed)
    document["request"]["optimizer"] = {"kind": "sgd", "lr": 0.02}
    path.write_text(json.dumps(document))
    assert main(["replay", str(path), "--url", url]) == 1
    said = capsys.readouterr().out
    assert "not equal: metrics, parameters, optimizer; the first metric row that differs is 1" in said


def test_what_cannot_be_replayed_is_reported_in_a_line(url, tmp_path, capsys):
    (tmp_path / "torn.json").write_text("{")
    assert main(["replay", str(tmp_path / "torn.json"), "--url", url]) == 2
    assert main(["replay", "no-such-thing", "--url", url]) == 1
    assert main(["bundle", UNKNOWN, "-o", str(tmp_path), "--url", url]) == 2
    assert main(["bundle", UNKNOWN, "--url", url]) == 1
    assert "Traceback" not in capsys.readouterr().err


def enable_interrupts():
    """Let a process heed Ctrl-C, though the tests may have been started in the background, where nobody does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_leaves_the_fit_running_and_says_how_to_see_it_again(url, files):
    command = [sys.executable, "-m", "app", "fit", *files, "--steps", "100000000", "--url", url]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, preexec_fn=enable_interrupts, **pipes) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        text, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (130, "")
    fit = re.search(r"adjoint watch (fit_[a-z0-9]{26})", text)[1]
    with Client(url, KEY) as client:
        handle = client.get_fit(fit)
        assert not handle.info.terminal
        handle.cancel()
        assert handle.wait().state == "cancelled"


def test_the_demo_files_fit_from_the_command_line(url, capsys):
    command = [
        "fit",
        str(graph_path("iris")),
        str(dataset_path("iris")),
        "--columns",
        "flower:float32[4]=sepal_length..petal_width,species:class",
    ]
    options = ["--validation", "0.2", "--metric", "accuracy", "--epochs", "2", "--batch-size", "16", "--seed", "1"]
    assert main([*command, *options, "--url", url]) == 0
    assert "val_accuracy" in capsys.readouterr().out


def test_options_of_a_fit_are_given_by_name_or_in_a_file(url, files, tmp_path, capsys):
    request = tmp_path / "request.json"
    request.write_text('{"early_stopping": {"monitor": "loss", "min_delta": 1e9}, "normalize": {"x": "standard"}}')
    graph, data, *feed = files
    command = ["fit", graph, data, data, *feed, "--request", str(request), "--epochs", "50", "--batch-size", "8"]
    options = ["--early-stopping", "1", "--micro-batch-size", "4", "--average", "ema", "--precision", "float64"]
    assert main([*command, *options, "--replicas", "2", "--url", url]) == 0
    said = capsys.readouterr().out
    fit, steps = re.search(r"(fit_[a-z0-9]{26}) succeeded after (\d+) steps: .*loss", said).groups()
    assert int(steps) < 200
    with Client(url, KEY) as client:
        info = client.get_fit(fit).info
    assert len(info.datasets) == 2
    wanted = {"micro_batch_size": 4, "average": "ema", "precision": "float64", "resources": {"replicas": 2}}
    assert wanted.items() <= info.request.items()
    assert info.request["early_stopping"] == {"monitor": "loss", "min_delta": 1e9, "patience": 1}


FAULTS = {
    "a wrong field": (["--epochs", "0"], 1, "/epochs"),
    "a feed without its column": (["--feed", "x"], 2, "--feed"),
    "a sweep without values": (["--sweep", "optimizer.lr="], 2, "--sweep"),
    "a missing file": (["--request", "no-such-file.json"], 2, "no-such-file.json"),
}


@pytest.mark.parametrize(("arguments", "status", "named"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_reported_without_a_traceback(url, files, arguments, status, named, capsys):
    assert main(["fit", *files, *arguments, "--url", url]) == status
    errors = capsys.readouterr().err
    assert named in errors
    assert "Traceback" not in errors


def test_a_missing_server_is_reported_in_one_line(capsys):
    assert main(["watch", UNKNOWN, "--url", "http://127.0.0.1:9"]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("adjoint: no answer from http://127.0.0.1:9")
    assert errors.count("\n") == 1


def test_address_and_key_are_taken_from_options_and_else_from_the_environment(keyed_url, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("ADJOINT_KEY", raising=False)
    # The key that a server is started with is none of its clients'.
    monkeypatch.setenv("ADJOINT_API_KEY", KEY)
    assert main(["watch", UNKNOWN, "--url", keyed_url]) == 1
    assert "401" in capsys.readouterr().err
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    assert main(["watch", UNKNOWN, "--url", keyed_url, "--key-file", str(file)]) == 1
    assert "404" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))
    assert main(["watch", UNKNOWN, "--url", keyed_url, "--key-file", "-"]) == 1
    assert "404" in capsys.readouterr().err
    monkeypatch.setenv("ADJOINT_URL", keyed_url)
    monkeypatch.setenv("ADJOINT_KEY", KEY)
    assert main(["watch", UNKNOWN]) == 1
    assert "404" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, b"", b"two words", b"\xff\xfe", b"cl\xc3\xa9", b"x" * 2000])
def test_a_file_without_a_key_is_refused_and_its_content_is_not_reported(content, tmp_path, capsys):
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    assert main(["watch", UNKNOWN, "--url", "http://127.0.0.1:9", "--key-file", str(file)]) == REFUSED
    result = capsys.readouterr().err
    assert "key" in result
    assert "two words" not in result


def test_the_ops_are_listed_and_described_without_a_server(capsys):
    assert main(["ops"]) == 0
    assert re.search(r"^matmul +linalg +Matrix product", capsys.readouterr().out, re.MULTILINE)
    assert main(["ops", "conv2d"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("conv2d(x, weight, bias, *, stride")
    assert "differentiable: yes" in text
    assert main(["ops", "matmal"]) == 1
    assert "did you mean 'matmul'?" in capsys.readouterr().err


def test_the_contract_is_printed_as_it_is_committed(capsys):
    assert main(["openapi"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((ROOT / "clients" / "openapi.json").read_text("utf-8"))


def test_every_command_explains_itself(capsys):
    assert main(["--help"]) == 0
    commands = re.findall(r"^  (\w+) ", capsys.readouterr().out.partition("Commands:")[2], re.MULTILINE)
    expected = (
        "serve demo fit watch cancel pause resume extend predict evaluate bundle replay system backup restore migrate "
        "verify ops layers optimizers openapi fits datasets graphs checkpoints sessions keys audit"
    )
    assert commands == expected.split()
    for command in commands[1:]:
        assert main([command, "--help"]) == 0
        assert f"adjoint {command}" in capsys.readouterr().out
