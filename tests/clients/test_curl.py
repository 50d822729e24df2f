import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from app.demo.next_steps import ADDRESS, COMMANDS

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "clients" / "curl").glob("*.sh"))

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")


def run(command, url):
    return subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "ADJOINT_URL": url}
    )


def test_the_examples_are_there():
    assert [script.name for script in SCRIPTS] == ["compute.sh", "iris.sh", "line.sh"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_runs_to_its_end(script, url):
    result = run([script], url)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout


def test_the_computed_function_and_its_derivative_are_right(url):
    answer = json.loads(run([ROOT / "clients/curl/compute.sh"], url).stdout)
    assert answer["losses"] == {"f": 16.0}
    assert answer["gradients"]["x"]["data"] == [12.0]


def test_the_line_goes_through_its_points(url):
    state, slope, offset = run([ROOT / "clients/curl/line.sh"], url).stdout.splitlines()
    assert "succeeded" in state
    assert json.loads(slope)["data"] == pytest.approx([3.0], abs=1e-3)
    assert json.loads(offset)["data"] == pytest.approx([2.0], abs=1e-3)


@pytest.mark.parametrize("command", COMMANDS, ids=range(len(COMMANDS)))
def test_the_lines_that_the_demo_recommends_run_as_printed(command, url):
    result = run(["bash", "-c", command.replace(ADDRESS, url)], url)
    assert result.returncode == 0
    answer = json.loads(result.stdout)
    assert answer.get("status", 200) == 200, answer
