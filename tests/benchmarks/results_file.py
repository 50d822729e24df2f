"""The file of results: a machine, and for each choice of BLAS kernels what was measured on each workload."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import Outcome
from tests.benchmarks.summary import summarize
from tests.benchmarks.workloads import WORKLOADS, Workload

Results = dict[str, Any]


def row(workload: Workload, floor_ms: float, outcomes: Sequence[Outcome]) -> Results:
    """Return what is written of one workload; a contender `agrees` if its losses are near the median."""
    contenders = [outcome.to_json() for outcome in outcomes]
    ran = [found for found in contenders if "missing" not in found]
    centre = [statistics.median(losses) for losses in zip(*(found["losses"] for found in ran), strict=True)]
    for found in ran:
        found["agrees"] = all(
            abs(loss - middle) <= workload.tolerance * max(1.0, abs(middle))
            for loss, middle in zip(found["losses"], centre, strict=True)
        )
    return {
        "workload": workload.name, "title": workload.title, "tolerance": workload.tolerance, "floor_ms": floor_ms,
        "contenders": contenders, "summary": summarize(contenders, floor_ms),
    }  # fmt: skip


def merged(old: Results | None, new: Results) -> Results:
    """Return old results with the rows of new ones in the place of theirs, in the order of the workloads.

    Rows of another machine or number of threads do not stay beside new ones.
    """
    if old is None or any(old[field] != new[field] for field in ("machine", "threads")):
        return new
    tables = {core: dict(table) for core, table in old["tables"].items()}
    for core, table in new["tables"].items():
        tables[core] = tables.get(core, {}) | table
    order = list(WORKLOADS)
    ordered = {
        core: dict(sorted(table.items(), key=lambda entry: order.index(entry[0]))) for core, table in tables.items()
    }
    return {**new, "tables": ordered}


def versions(results: Results) -> dict[str, str]:
    """Return the versions of the libraries that took part."""
    found: dict[str, str] = {}
    for table in results["tables"].values():
        for measured in table.values():
            for contender in measured["contenders"]:
                if contender.get("version"):
                    found[contender["name"].partition(" ")[0].partition(".")[0]] = contender["version"]
    return found


def read_results(path: Path) -> Results | None:
    """Read a file of results, if there is one."""
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def write_results(path: Path, results: Mapping[str, Any]) -> None:
    """Write a file of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
