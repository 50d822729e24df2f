"""The wheels work where nothing else of the project is: in an empty folder, and beside folders of the same names."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.demo import dataset_path, graph_path
from app.cli.demo.examples import EXAMPLES
from tests.installed.conftest import Installation

ROOT = Path(__file__).parents[2]
READY = "Adjoint listening on "


@pytest.fixture(scope="module")
def url(installation: Installation) -> Iterator[str]:
    """The address of a server that the command has started."""
    with subprocess.Popen(
        [installation.bin / "adjoint", "serve", "--port", "0"],
        cwd=installation.folder,
        env=installation.environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().removeprefix(READY).strip()
        finally:
            process.terminate()


@pytest.mark.slow
def test_the_demo_trains_well_and_leaves_nothing_behind(installation: Installation) -> None:
    text = installation.run("adjoint", "demo")
    assert "f = 16, df/dx = 12" in text
    for example in EXAMPLES:
        (accuracy,) = re.findall(rf"^{example.name}: held-out accuracy ([\d.]+)", text, re.MULTILINE)
        assert float(accuracy) >= example.enough
        assert re.search(rf"^{example.name} succeeded .*loss .*val_accuracy", text, re.MULTILINE)
        assert f"{example.name}.safetensors" in text
    assert text.count("truth") == len(EXAMPLES)
    assert text.count("norm of the gradient") == len(EXAMPLES)
    assert "linear_0.weight" in text
    assert "curl -s" in text
    assert not list((installation.folder / "tmp").glob("adjoint-demo-*"))


@pytest.mark.slow
def test_the_command_fits_a_table(installation: Installation, url: str) -> None:
    shutil.copy(graph_path("iris"), installation.folder / "iris.json")
    shutil.copy(dataset_path("iris"), installation.folder / "iris.csv")
    (example,) = (each for each in EXAMPLES if each.name == "iris")
    given = ["iris.json", "iris.csv", "--url", url]
    text = installation.run("adjoint", "fit", *given, "--columns", example.columns, "--epochs", "3")
    assert "succeeded" in text


@pytest.mark.slow
def test_the_python_lines_of_the_readme_run(installation: Installation, url: str) -> None:
    lines = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)[0]
    (installation.folder / "lines.py").write_text(lines.replace("http://127.0.0.1:8000", url))
    assert "near" in installation.run("python", "-P", "lines.py")
