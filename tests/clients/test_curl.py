import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from app.cli.demo.steps import ADDRESS, COMMANDS

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "clients" / "curl").glob("*.sh"))

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")


def run(command, url):
    return subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "ADJOINT_URL": url}
    )


def test_every_example_is_run_here():
    assert [script.name for script in SCRIPTS] == ["compute.sh", "hessian.sh", "iris.sh", "line.sh"]


def run_example(name, url):
    result = run([ROOT / "clients" / "curl" / name], url)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout
    return result.stdout.splitlines()


def test_the_computed_function_and_its_derivative_are_right(url):
    (line,) = run_example("compute.sh", url)
    assert json.loads(line)["losses"] == {"f": 16.0}
    assert json.loads(line)["gradients"]["x"]["data"] == [12.0]


def test_the_hessian_times_a_vector_and_the_third_derivative_are_right(url):
    (line,) = run_example("hessian.sh", url)
    product, third = (found["tensors"] for found in json.loads(line)["derivatives"])
    assert {name: tensor["data"] for name, tensor in product.items()} == {"x": [2.0], "y": [0.0]}
    assert third["x,x,y"]["data"] == [-400.0]


def test_the_line_goes_through_its_points(url):
    state, slope, offset = run_example("line.sh", url)
    assert "succeeded" in state
    assert json.loads(slope)["data"] == pytest.approx([3.0], abs=1e-3)
    assert json.loads(offset)["data"] == pytest.approx([2.0], abs=1e-3)


def test_a_csv_file_becomes_a_model_that_predicts(url):
    lines = run_example("iris.sh", url)
    assert '"state":"succeeded"' in lines
    (prediction,) = [json.loads(line) for line in lines if line.startswith('{"outputs"')]
    (logits,) = prediction["outputs"].values()
    assert logits["shape"] == [2, 3]
    assert lines[-1].startswith("checkpoint: ")


@pytest.mark.parametrize("command", COMMANDS, ids=range(len(COMMANDS)))
def test_the_lines_that_the_demo_recommends_run_as_printed(command, url):
    result = run(["bash", "-c", command.replace(ADDRESS, url)], url)
    assert result.returncode == 0
    answer = json.loads(result.stdout)
    assert answer.get("status", 200) == 200, answer
