"""The wheels work where nothing else of the project is: in an empty folder, and beside folders of the same names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest

from app.cli.demo import dataset_path, graph_path
from app.cli.demo.examples import EXAMPLES

ROOT = Path(__file__).parents[2]
SOURCES = ("app", "engine", "deploy/bin", "pyproject.toml", "README.md", "LICENSE", "clients/python")
SETUPTOOLS = 77
"""The first version that reads the license of pyproject.toml."""
READY = "Adjoint listening on "


@dataclass(frozen=True)
class Installation:
    """A virtual environment with the wheels, and a folder to work in that holds an `app` and an `engine` of its own."""

    bin: Path
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that finds the folder's packages on PYTHONPATH."""
        own = {name: text for name, text in os.environ.items() if not name.startswith(("ADJOINT_", "PYTHON"))}
        return {**own, "PYTHONPATH": str(self.folder), "COLUMNS": "120", "TMPDIR": str(self.folder / "tmp")}

    def run(self, *command: str) -> str:
        """Run a command of the environment in the folder; return what it prints."""
        arguments = [str(self.bin / command[0]), *command[1:]]
        done = subprocess.run(arguments, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Build both wheels and install them in an environment that has nothing but what they depend on."""
    if int(version("setuptools").split(".")[0]) < SETUPTOOLS:
        pytest.skip(f"needs setuptools {SETUPTOOLS} to build wheels without a network")
    root = tmp_path_factory.mktemp("wheels")
    for source in SOURCES:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
        (root / "source" / source).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, root / "source" / source, ignore=ignored)
        else:
            shutil.copyfile(ROOT / source, root / "source" / source)
    # By the tools that are here: nothing is downloaded.
    offline = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(root / "wheels")]
    projects = [str(root / "source"), str(root / "source/clients/python")]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *offline, *projects], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root / "venv")], check=True)
    python = root / "venv/bin/python"
    wheels = [str(wheel) for wheel in (root / "wheels").iterdir()]
    installing = ["--python", str(python), "install", "--quiet", "--no-deps", "--no-index", *wheels]
    subprocess.run([sys.executable, "-m", "pip", *installing], check=True)
    (site,) = (root / "venv/lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    folder = root / "work"
    for name in ("app", "engine", "tmp"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise ImportError('this is another package')")
    return Installation(root / "venv/bin", folder)


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
