"""The snippets of the README and of docs/ run as printed, and so do the examples of the HTTP reference."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import ServerProcess, serving, share_fork_server
from tests.support.snippets import PRINTED_URL, ROOT, Snippet, pages_with, snippets
from tools.docs.http_client import answers, send
from tools.docs.http_steps import STEPS

SEPARATOR = "\x1e"
ADJOINT = f'adjoint() {{ "{sys.executable}" -m tests.support.orders "$@"; }}\n'
"""The command, of these sources, in a process that has them loaded."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Start the one server of this file: its last test creates a key, after which a server needs one."""
    with serving(tmp_path_factory.mktemp("docs")) as started:
        yield started


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_runs_as_printed(
    page: str, server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "__main__"}
    for snippet in snippets(ROOT / page, "python"):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(_here(snippet, server, tmp_path), page, "exec"), names)
        assert snippet.matches(output.getvalue()), output.getvalue()
    if "client" in names:
        names["client"].close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("page", pages_with("sh"))
def test_shell_lines_run_as_printed(page: str, server: ServerProcess, tmp_path: Path) -> None:
    share_fork_server()
    run = list(snippets(ROOT / page, "sh"))
    script = f"\nprintf '{SEPARATOR}'\n".join(_here(snippet, server, tmp_path) for snippet in run)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", ADJOINT + script], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    for snippet, output in zip(run, done.stdout.split(SEPARATOR), strict=True):
        assert snippet.matches(output), output
        if snippet.expected is None:
            assert "/problems/" not in output


def _here(snippet: Snippet, server: ServerProcess, folder: Path) -> str:
    return snippet.code.replace(PRINTED_URL, server.url).replace("/tmp/", f"{folder}/")


def test_the_example_of_every_operation_succeeds(server: ServerProcess) -> None:
    recorded = answers()
    for step, answer in send(STEPS, server.http):
        shown = recorded.pop(step.operation, {}).get("body")
        if isinstance(shown, dict):
            again = "record the answers again: python -m tools.docs.http_client URL"
            assert answer.json().keys() == shown.keys(), f"{step.operation}: {again}"
    assert not server.tracebacks()
