"""Writes the tables of docs/benchmarks.md from the file of results: `python -m tests.benchmarks.readme`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from tests.benchmarks.results_file import Results, read_results
from tests.benchmarks.table import markdown

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "tests/benchmarks/results/steps.json"
PAGE = ROOT / "docs/benchmarks.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def with_tables(text: str, results: Results) -> str:
    """Return the page with the tables of these results between its markers."""
    found = re.search(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", text, re.DOTALL)
    if found is None:
        raise SystemExit(f"the page has no lines {BEGIN} and {END}")
    return text[: found.start()] + f"{BEGIN}\n{markdown(results)}{END}" + text[found.end() :]


def main() -> None:
    """Write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    results = read_results(parser.parse_args().results)
    if results is None:
        raise SystemExit("there are no results yet; run `make bench`")
    PAGE.write_text(with_tables(PAGE.read_text("utf-8"), results), "utf-8")


if __name__ == "__main__":
    main()
