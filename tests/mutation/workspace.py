"""A copy of a tree in which mutants are planted and tests run."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutants import Mutant, planted

LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", "_build", "node_modules")
LIMIT_SECONDS = 900.0
"""Tests that take longer than this hang: that is noticed as well."""

PASSED, FAILED, INTERRUPTED, USAGE_ERROR, NOTHING_COLLECTED = 0, 1, 2, 4, 5
"""Exit statuses of pytest; it is interrupted by an error of collection."""
_NO_SUCH_TEST = "ERROR: not found:"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What tests made of a mutant.

    Attributes:
        name: the mutant's.
        noticed_by: the first test that failed, or what happened instead; None if all passed.
        seconds: how long it took.
    """

    name: str
    noticed_by: str | None
    seconds: float


class PytestError(Exception):
    """Tests could not be run at all, which shows nothing about a mutant."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A copy of a tree."""

    tree: Path

    def examine(self, mutant: Mutant, noticed_before_by: str | None = None) -> Outcome:
        """Plant a mutant and run its tests, at first that which noticed it before, up to the first failure."""
        begun = time.monotonic()
        noticed_by = None
        with planted(mutant, self.tree):
            if noticed_before_by is not None and (self.tree / noticed_before_by.partition("::")[0]).exists():
                noticed_by = self._first_failure([noticed_before_by])
            selection = ["-k", mutant.select] if mutant.select else []
            remaining = iter(mutant.paths(self.tree))
            while noticed_by is None and (path := next(remaining, None)) is not None:
                noticed_by = self._first_failure([*selection, path])
        return Outcome(mutant.name, noticed_by, time.monotonic() - begun)

    def failing(self, tests: Sequence[str]) -> set[str]:
        """Return those of the tests that fail as things are."""
        if not tests:
            return set()
        status, output = self._run([*tests])
        if status not in (PASSED, FAILED, INTERRUPTED):
            raise PytestError(f"the tests that noticed mutants cannot be run without them:\n{output[-2000:]}")
        return set(_FAILED.findall(output))

    def _first_failure(self, arguments: Sequence[str]) -> str | None:
        status, output = self._run(["-x", *arguments])
        if status in (PASSED, NOTHING_COLLECTED) or (status == USAGE_ERROR and _NO_SUCH_TEST in output):
            return None
        if status == USAGE_ERROR:
            raise PytestError(output[-2000:])
        if status is None:
            return f"they take more than {LIMIT_SECONDS:g} seconds"
        found = _FAILED.search(output)
        return found[1] if found else f"pytest ends with status {status}"

    def _run(self, arguments: Sequence[str]) -> tuple[int | None, str]:
        """Run tests; return the exit status, None if they hang, and what they print."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE", *arguments]
        process = subprocess.Popen(
            command,
            cwd=self.tree,
            env=_environment(self.tree),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=LIMIT_SECONDS)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            # Servers that the tests have started may be left; they are in the same session.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def copy_of(tree: Path) -> Iterator[Workspace]:
    """Copy a tree to a temporary folder, for the length of the block."""
    with tempfile.TemporaryDirectory(prefix="adjoint-mutants-") as folder:
        copied = Path(folder) / "tree"
        shutil.copytree(tree, copied, ignore=LEFT_OUT, symlinks=True)
        yield Workspace(copied)


def _environment(tree: Path) -> dict[str, str]:
    """Return an environment in which the packages of the tree are found first, and random graphs are the same.

    Tests need no plugin of pytest, and to load them takes longer than many a test.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ADJOINT_", "PYTEST_"))}
    inherited.pop("PYTHONDONTWRITEBYTECODE", None)
    path = os.pathsep.join((str(tree), str(tree / "clients" / "python")))
    return {**inherited, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "LAW_SEED": "1"}
