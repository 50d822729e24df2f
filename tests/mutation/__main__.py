"""Plant faults in the sources one after the other, and see whether the tests notice them.

    python -m tests.mutation                    all mutants of the tables, in a copy of this tree
    python -m tests.mutation --only NAME ...    these alone
    python -m tests.mutation --tree DIR         in a copy of another tree
    python -m tests.mutation --json FILE        write the outcomes too
    python -m tests.mutation --than FILE        and name those that were noticed in that run, and are not now

A mutant counts as noticed by a test that fails with it, and passes without. The exit status is 1 if a mutant is not
noticed; with `--than`, if it was before.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from tests.mutation.mutants import HERE, TableError, read_mutants
from tests.mutation.workspace import Outcome, PytestError, Workspace, copy_of

ROOT = HERE.parents[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the mutants that the command line names, and return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        mutants = read_mutants(options.only)
        for mutant in mutants:  # all of them before the first test: a table that does not fit is seen at once
            mutant.check(options.tree)
            if options.list:
                print(f"{mutant.name:40} {mutant.file}: {mutant.fault}")
        if options.list:
            return 0
        before = _read_outcomes(options.than)
        with copy_of(options.tree) as workspace:
            outcomes = []
            for mutant in mutants:
                outcomes.append(workspace.examine(mutant, before.get(mutant.name)))
                _show(outcomes[-1])
                _write(outcomes, options.json)  # so that something is left of a run that is interrupted
            outcomes = _confirmed(workspace, outcomes)
            _write(outcomes, options.json)
    except (TableError, PytestError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return _summarize(outcomes, before)


def _confirmed(workspace: Workspace, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Run the tests that have failed without mutants: one that fails then has noticed nothing."""
    tests = {outcome.noticed_by for outcome in outcomes if outcome.noticed_by is not None}
    broken = workspace.failing(sorted(test for test in tests if (workspace.tree / test.partition("::")[0]).exists()))
    for test in sorted(broken):
        print(f"without a mutant this fails too, so that it shows nothing: {test}")
    return [replace(each, noticed_by=None) if each.noticed_by in broken else each for each in outcomes]


def _read_outcomes(file: Path | None) -> dict[str, str | None]:
    """Return by whom each mutant was noticed in an earlier run."""
    return {} if file is None else {entry["name"]: entry["noticed_by"] for entry in json.loads(file.read_text("utf-8"))}


def _summarize(outcomes: Sequence[Outcome], before: Mapping[str, str | None]) -> int:
    missed = [outcome.name for outcome in outcomes if outcome.noticed_by is None]
    seconds = sum(outcome.seconds for outcome in outcomes)
    print(f"{len(outcomes) - len(missed)} of {len(outcomes)} mutants noticed in {seconds:.0f} s")
    for name in missed:
        print(f"  not noticed: {name}")
    lost = [name for name in missed if before.get(name) is not None]
    for name in lost:
        print(f"  noticed before by {before[name]}: {name}")
    return 1 if lost or (missed and not before) else 0


def _write(outcomes: Sequence[Outcome], file: Path | None) -> None:
    if file is not None:
        file.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n", "utf-8")


def _show(outcome: Outcome) -> None:
    print(f"{outcome.name:40} {outcome.seconds:5.0f} s  {outcome.noticed_by or 'NOT NOTICED'}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", type=Path, default=ROOT, metavar="DIR", help="what is copied; by default this tree")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="mutants; by default all")
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the outcomes")
    parser.add_argument("--than", type=Path, metavar="FILE", help="outcomes of an earlier run, to compare with")
    return parser


if __name__ == "__main__":
    sys.exit(main())
