"""Print what the server and its client depend on, a line each: `python deploy/requirements.py fast,parquet`.

The image installs these in a layer of their own, which a change of the sources does not touch.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROJECTS = (ROOT / "pyproject.toml", ROOT / "clients" / "python" / "pyproject.toml")
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,.\s-]*)\])?")


def requirements(extras: Iterable[str]) -> list[str]:
    """Return the requirements of all projects with these extras of the server; KeyError if an extra is unknown."""
    tables = {table["name"]: table for table in map(_project, PROJECTS)}
    server = _project(PROJECTS[0])["name"]
    found = {line: None for name in tables for line in _expand(tables, name, extras if name == server else ())}
    return list(found)


def _expand(tables: dict[str, dict[str, Any]], name: str, extras: Iterable[str]) -> Iterator[str]:
    """Go through the requirements of a project; those that are projects of this repository are replaced by theirs."""
    optional = tables[name].get("optional-dependencies", {})
    for line in (*tables[name]["dependencies"], *(each for extra in extras for each in optional[extra])):
        match = REQUIREMENT.match(line)
        assert match is not None, line
        if match[1] in tables:
            yield from _expand(tables, match[1], _split(match[2] or ""))
        else:
            yield line


def _split(extras: str) -> list[str]:
    return [extra.strip() for extra in extras.split(",") if extra.strip()]


def _project(path: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))["project"]
    return table


if __name__ == "__main__":
    try:
        sys.stdout.writelines(f"{line}\n" for line in requirements(_split("".join(sys.argv[1:]))))
    except KeyError as error:
        sys.exit(f"pyproject.toml has no extra {error}")
