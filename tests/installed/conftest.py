"""The wheels of the project, built and installed once for all tests of what is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
SOURCES = ("app", "engine", "deploy/bin", "pyproject.toml", "README.md", "LICENSE", "clients/python")
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
INSTALLED = ("adjoint-server[fast]", "adjoint-client")
SETUPTOOLS = 77
"""The first version that reads the license of pyproject.toml."""


@dataclass(frozen=True)
class Installation:
    """A virtual environment with the wheels, and a folder to work in that holds an `app` and an `engine` of its own.

    `bin` and `site` are where its commands and its packages are.
    """

    bin: Path
    site: Path
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


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Build both wheels and install them in an environment that has nothing but what they depend on."""
    if _setuptools() < SETUPTOOLS:
        pytest.skip(f"needs setuptools {SETUPTOOLS} to build wheels without a network")
    root = tmp_path_factory.mktemp("wheels")
    for source in SOURCES:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
        (root / "source" / source).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, root / "source" / source, ignore=ignored)
        else:
            shutil.copyfile(ROOT / source, root / "source" / source)
    # As pip does it, by the build backend that is here: nothing is downloaded.
    for project in (root / "source", root / "source/clients/python"):
        build = [sys.executable, "-c", BUILD, str(root / "wheels")]
        subprocess.run(build, check=True, cwd=project, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root / "venv")], check=True)
    python = root / "venv/bin/python"
    wheels = [str(wheel) for wheel in (root / "wheels").iterdir()]
    installing = ["--python", str(python), "install", "--quiet", "--no-deps", "--no-index", *wheels]
    subprocess.run([sys.executable, "-m", "pip", *installing], check=True)
    (site,) = (root / "venv/lib").glob("python*/site-packages")
    _link_dependencies(site, root / "dependencies")
    folder = root / "work"
    for name in ("app", "engine", "tmp"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise ImportError('this is another package')")
    return Installation(root / "venv/bin", site, folder)


def _link_dependencies(site: Path, folder: Path) -> None:
    """Have an environment find what its wheels require, and no other package of this environment."""
    folder.mkdir()
    for required in _requirements(site):
        for name in {file.parts[0] for file in required.files or ()} - {"..", "__pycache__"}:
            if not (folder / name).exists():
                (folder / name).symlink_to(Path(str(required.locate_file(name))))
    (site / "dependencies.pth").write_text(f"{folder}\n")


def _requirements(site: Path) -> Iterator[Distribution]:
    """Yield the distributions, as they are installed here, that the wheels in `site` require, and all that those do."""
    wheels = {canonicalize_name(wheel.name): wheel for wheel in distributions(path=[str(site)])}
    waiting, seen = [Requirement(each) for each in INSTALLED], set[tuple[str, str]]()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras} - {extra for known, extra in seen if known == name}:
            seen.add((name, extra))
            found = wheels.get(name) or distribution(name)
            if name not in wheels:
                yield found
            needed = map(Requirement, found.requires or ())
            waiting += [each for each in needed if each.marker is None or each.marker.evaluate({"extra": extra})]


def _setuptools() -> int:
    """Return the major version that is installed, 0 if none is."""
    try:
        return int(version("setuptools").split(".")[0])
    except PackageNotFoundError:
        return 0
