"""TypeScript: the types that openapi-typescript makes of the contract, with which natural code compiles and trains."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

CLIENTS = Path(__file__).resolve().parents[2] / "clients"
SOURCES = ("package.json", "tsconfig.json", "line.ts")

pytestmark = pytest.mark.slow


def run(folder, *command, **environment):
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the example with its packages installed, from npm's cache only."""
    missing = [tool for tool in ("node", "npm", "npx") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("clients") / "typescript"
    folder.mkdir()
    shutil.copy(CLIENTS / "openapi.json", folder.parent)
    for name in SOURCES:
        shutil.copy(CLIENTS / "typescript" / name, folder)
    installed = run(folder, "npm", "install", "--offline", "--no-audit", "--no-fund", "--no-package-lock")
    if installed.returncode:
        pytest.skip("npm's cache lacks openapi-typescript and typescript; run npm install in clients/typescript once")
    types = run(folder, "npm", "run", "types")
    assert types.returncode == 0, types.stderr
    return folder


def test_the_example_compiles_strictly_and_trains(project, url):
    """The compiler runs once, over the example and over one with a mistake: it takes most of the test."""
    right, wrong = '  optimizer: { kind: "adam", lr: 0.1 },', '  optimizer: { kind: "adamm", lr: 0.1 },'
    example = (project / "line.ts").read_text()
    assert right in example
    (project / "wrong.ts").write_text(example.replace(right, wrong))
    settings = json.loads((project / "tsconfig.json").read_text())
    (project / "tsconfig.json").write_text(json.dumps({**settings, "include": [*settings["include"], "wrong.ts"]}))
    compiled = run(project, "node_modules/.bin/tsc")
    assert compiled.returncode != 0
    (refused,) = [line for line in compiled.stdout.splitlines() if "error TS" in line]
    assert refused.startswith("wrong.ts(")
    assert "adamm" in compiled.stdout
    trained = run(project, "node", "dist/line.js", ADJOINT_URL=url)
    assert trained.stdout.startswith("succeeded 300 "), trained.stderr
