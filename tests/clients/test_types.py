"""What type checkers say of calls of the client: they take the right ones and refuse the wrong ones."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "python"
CACHE = ROOT / ".mypy_cache" / "calls"
"""What mypy keeps of the standard library and of the client between runs; `make lint` checks by other rules."""

CALLS = """
from adjoint_client import AsyncClient, Client
from adjoint_client.generated.schemas import FitRequest

client = Client()
columns = {"x": [1.0, 2.0]}
graph = {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x - w) ** 2)"}
fit = client.fit(graph, columns, epochs=3, optimizer={"kind": "adam", "lr": 0.1, "betas": (0.9, 0.99)})
client.fit("graph_1", ["ds_1", "ds_2"], steps=3, validation=0.2, schedule={"kind": "one_cycle", "total_steps": 3})
client.fit(graph, columns, metrics=["accuracy", {"kind": "top_k_accuracy", "k": 2}], early_stopping={"patience": 2})
client.fit(graph, columns, optimizer={"kind": "sgd", "groups": [{"match": "w*", "lr": 0.2}]}, resources={"threads": 1})
client.session(graph, optimizer={"kind": "sgd", "lr": 0.1}, seed=1).optim_step(lr=0.1)
request: FitRequest = {"graph": "graph_1", "dataset": "ds_1", "epochs": 3}
print(fit.info.state == "succeeded", fit.info.best, [found.info.step for found in client.fits(state="failed")])

client.fit(graph, columns, epochz=3)  # refused: call-arg
client.fit(graph, columns, epochs="3")  # refused: arg-type
client.fit(graph, columns, optimizer={"kind": "adamm"})  # refused: arg-type
client.fit(graph, columns, optimizer={"kind": "adam", "momentum": 0.9})  # refused: arg-type
client.fit(graph, columns, schedule={"kind": "one_cycle"})  # refused: arg-type
client.fit(graph, columns, resources={"priority": "highest"})  # refused: arg-type
client.session(graph, seeds=1)  # refused: call-arg
client.fits(state="success")  # refused: arg-type
fit.info.stat  # refused: attr-defined
request = {"graph": "graph_1", "epochs": "3"}  # refused: typeddict-item
"""


EXPECTED = {
    number: line.partition("# refused: ")[2]
    for number, line in enumerate(CALLS.splitlines(), 1)
    if "# refused: " in line
}
"""The rule that mypy names, by line."""

RULES = {
    "call-arg": "reportCallIssue",
    "arg-type": "reportArgumentType",
    "attr-defined": "reportAttributeAccessIssue",
    "typeddict-item": "reportAssignmentType",
}
"""What pyright calls them."""


@pytest.fixture
def calls(tmp_path):
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    return file


@pytest.mark.slow
def test_mypy_refuses_wrong_calls_and_takes_right_ones(calls):
    pytest.importorskip("mypy")
    options = ["--cache-dir", str(CACHE), "--config-file", "", "--show-error-codes"]
    command = [sys.executable, "-m", "mypy", *options, str(calls)]
    environment = {**os.environ, "MYPYPATH": str(CLIENT)}
    lines = subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout.splitlines()
    matches = [re.search(r"calls\.py:(\d+): error: .*\[([\w-]+)\]$", line) for line in lines]
    assert {int(match[1]): match[2] for match in matches if match} == EXPECTED, lines


@pytest.mark.slow
def test_pyright_refuses_wrong_calls_and_takes_right_ones(calls):
    pytest.importorskip("basedpyright")
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(CLIENT)]}
    (calls.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "calls.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=calls.parent)
    found = json.loads(done.stdout)["generalDiagnostics"]
    assert {each["range"]["start"]["line"] + 1: each["rule"] for each in found} == {
        number: RULES[rule] for number, rule in EXPECTED.items()
    }
