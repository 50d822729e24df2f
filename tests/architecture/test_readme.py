"""The README tells the truth: its commands run as printed, its settings are those there are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.config.settings import Settings
from tests.conftest import ServerProcess

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PRINTED_URL = "http://127.0.0.1:8000"


def block(name: str) -> str:
    """Return the code that follows the marker `<!-- run: NAME -->`."""
    match = re.search(rf"<!-- run: {name} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert match is not None
    return match.group(1)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_in_the_table(name: str) -> None:
    field = Settings.model_fields[name]
    row = re.search(rf"^\| `ADJOINT_{name.upper()}` \| (.*?) \| (.*?) \|$", README, re.MULTILINE)
    assert row is not None, f"add a row for ADJOINT_{name.upper()} to the README"
    assert row.group(2) == field.description
    if isinstance(field.default, int | float | str):
        assert row.group(1) == str(field.default)


def test_no_setting_in_the_table_is_gone() -> None:
    documented = re.findall(r"^\| `ADJOINT_(\w+)` \|", README, re.MULTILINE)
    assert documented == [name.upper() for name in Settings.model_fields]


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:app|engine|tests|deploy|clients)/[\w./]+)`", README))))
def test_every_path_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_lines_run_as_printed(server: ServerProcess, tmp_path: Path) -> None:
    script = block("curl").replace(PRINTED_URL, server.url).replace("/tmp/", f"{tmp_path}/")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert '"state":"succeeded"' in done.stdout
    assert '"f":16.0' in done.stdout
    assert "12.0" in done.stdout
    assert (tmp_path / "iris.safetensors").stat().st_size > 500
    assert "problem" not in done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_lines_on_sweeps_run_as_printed(server: ServerProcess) -> None:
    script = block("sweep").replace(PRINTED_URL, server.url)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert '"states":{"succeeded":6}' in done.stdout
    assert done.stdout.count('"rank":1,') == 2
    assert "problem" not in done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_lines_on_control_run_as_printed(server: ServerProcess, tmp_path: Path) -> None:
    script = block("control").replace(PRINTED_URL, server.url).replace("/tmp/", f"{tmp_path}/")
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for state in ("paused", "queued", "cancelled", "succeeded"):
        assert f'"state":"{state}"' in done.stdout, state
    assert "problem" not in done.stdout
    assert json.loads((tmp_path / "bundle.json").read_text())["object"] == "bundle"


def test_the_python_lines_run_as_printed(server: ServerProcess) -> None:
    code = block("python").replace(PRINTED_URL, server.url)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "should be near" in done.stdout


def test_the_loop_over_http_runs_as_printed(server: ServerProcess) -> None:
    code = block("loop").replace(PRINTED_URL, server.url)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    losses = [float(number) for number in re.findall(r"^loss (\S+)", done.stdout, re.MULTILINE)]
    assert len(losses) == 2
    assert losses[1] < 0.01
    assert "steps 260" in done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_steps_by_curl_run_as_printed(server: ServerProcess) -> None:
    script = block("steps").replace(PRINTED_URL, server.url)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert (answers[1]["loss"], answers[1]["seq"]) == (16.0, 2)
    assert answers[2] == answers[1]
    assert answers[3]["data"] == [12.0]
    assert answers[5]["data"] == [pytest.approx(0.8)]


def test_the_engine_lines_run_as_printed() -> None:
    done = subprocess.run([sys.executable, "-c", block("engine")], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "[[ 6.  0.]\n [ 0. 12.]]" in done.stdout
    assert "grad for w" in done.stdout


def test_the_lines_on_sessions_run_as_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", block("session")], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "'w': 2.0" in done.stdout


def test_the_lines_on_modules_run_as_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", block("modules")], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"loss [01]\.\d+ classes \[", done.stdout)


@pytest.mark.parametrize(
    ("lines", "prints"),
    [
        ("transforms", ("gradients (8, 3) Hessian (3, 3)", "input x: float32[rows,3]", "of the graph Value(")),
        ("static", ("16.0 12.0\n24.0",)),
    ],
)
def test_the_lines_on_transforms_and_static_graphs_run_as_printed(lines: str, prints: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-c", block(lines)], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert all(part in done.stdout for part in prints), done.stdout
