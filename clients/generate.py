"""Writes what follows from the server's code: openapi.json, the generated package, and the client without asyncio.

`--check` writes nothing and fails if what is committed differs.
"""

import argparse
import filecmp
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from app.main.application import openapi_document
from generator.contract import Contract
from generator.operations import operations_module
from generator.records import records_module
from generator.schemas import schemas_module
from unasync import unasync

HERE = Path(__file__).resolve().parent
CONTRACT = Path("openapi.json")
GENERATED = Path("python/adjoint_client/generated")
ASYNC = Path("python/adjoint_client/_async")
SYNC = Path("python/adjoint_client/_sync")
PRODUCTS = (CONTRACT, GENERATED, SYNC)


def main() -> int:
    """Generate, or check; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare with what is there, and change nothing")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as scratch:
        build(Path(scratch))
        changed = [name for product in PRODUCTS for name in differences(Path(scratch) / product, HERE / product)]
        if not check:
            install(Path(scratch))
    for name in changed:
        sys.stdout.write(f"{'differs' if check else 'written'}: clients/{name}\n")
    if check and changed:
        sys.stderr.write("the committed client is not what the server's code gives; run make client and commit\n")
    return int(check and bool(changed))


def build(target: Path) -> None:
    """Write all products below `target`."""
    document = openapi_document()
    (target / CONTRACT).write_text(encode(document), "utf-8")
    generate_package(Contract(document), target / GENERATED)
    generate_sync(target / SYNC)
    for tool in (("check", "--fix-only", "--exit-zero", "--select", "I,F401,RUF022"), ("format",)):
        _run("ruff", *tool, "--quiet", "--isolated", "--line-length", "120", "--target-version", "py311", target)


def encode(document: dict[str, Any]) -> str:
    """Return a JSON document in its one canonical encoding."""
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def generate_package(contract: Contract, package: Path) -> None:
    """Write the types of the contract, and its table of operations."""
    package.mkdir(parents=True)
    for name, content in {
        "__init__": '"""Generated from the contract by clients/generate.py: change the server or the generator."""\n',
        "schemas": schemas_module(contract),
        "records": records_module(contract),
        "operations": operations_module(contract),
    }.items():
        (package / f"{name}.py").write_text(content, "utf-8")


def generate_sync(package: Path) -> None:
    """Make the client without asyncio."""
    package.mkdir(parents=True)
    for source in sorted((HERE / ASYNC).glob("*.py")):
        note = f"# Made from {ASYNC.name}/{source.name} by clients/generate.py: change that file.\n"
        (package / source.name).write_text(note + unasync(source.read_text("utf-8")), "utf-8")


def differences(made: Path, there: Path) -> list[str]:
    """Name the files that differ between the two, or are only in one, relative to this folder."""
    files = {path.relative_to(made) for path in _files(made)} | {path.relative_to(there) for path in _files(there)}
    return [
        str((there / file).relative_to(HERE))
        for file in sorted(files)
        if not ((made / file).is_file() and (there / file).is_file())
        or not filecmp.cmp(made / file, there / file, shallow=False)
    ]


def install(source: Path) -> None:
    """Put the products in place of those that are there."""
    for product in PRODUCTS:
        there = HERE / product
        if there.is_dir():
            shutil.rmtree(there)
        if (source / product).is_dir():
            shutil.copytree(source / product, there)
        else:
            shutil.copyfile(source / product, there)


def _files(path: Path) -> list[Path]:
    """The path itself if it is a file, or the files below it that are no caches."""
    if path.is_file():
        return [path]
    return [file for file in path.rglob("*") if file.is_file() and file.suffix != ".pyc"]


def _run(module: str, *arguments: str | Path) -> None:
    command = [sys.executable, "-m", module, *arguments]
    result = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 (the command is fixed)
    if result.returncode:
        raise SystemExit(f"{module} failed:\n{result.stdout}{result.stderr}")


if __name__ == "__main__":
    sys.exit(main())
