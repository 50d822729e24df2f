"""The snippets of the README and of docs/ run as printed, and the paths they name exist."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import engine
from app.api.schemas.fit_request import FitRequest
from app.service.fits.admission import recipe_of
from tests.architecture.snippets import FENCE, PAGES, PRINTED_URL, ROOT, Snippet, pages_with, snippets
from tests.support.server import ServerProcess, serving, share_fork_server
from tools.docs.http_client import answers, send
from tools.docs.http_steps import STEPS

README_LINES_MAX = 150
LANGUAGES = {"python", "sh", "json", "text", "mermaid"}
TOO_NEW = ("%header{", "--json", "--fail-with-body", "--url-query", "%output{")
"""What curl 7.68 does not know."""

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


@pytest.mark.parametrize("page", pages_with("json"))
def test_json_is_json_and_graphs_and_fits_are_accepted(page: str) -> None:
    for snippet in snippets(ROOT / page, "json"):
        document = json.loads(snippet.code)
        if snippet.note == "graph":
            assert engine.parse_graph(document).losses
        if snippet.note == "fit":
            request = {"graph": "graph", "dataset": "dataset", "epochs": 1, **document}
            FitRequest.model_validate(request)
            engine.read_recipe(recipe_of(request))


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= README_LINES_MAX


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    named = set(re.findall(r"`((?:app|engine|tests|deploy|clients|tools|docs|requirements)/[\w./-]+)`", text))
    prose = FENCE.sub("", text)
    linked = {link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose) if "://" not in link}
    pictures = set(re.findall(r'<img src="([^"]+)"', text))
    assert not [path for path in named if not (ROOT / path).exists()]
    assert not [path for path in linked | pictures if not (page.parent / path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_of_a_kind_that_is_tested(page: Path) -> None:
    text = page.read_text("utf-8")
    assert set(re.findall(r"^ *```(\w+)$", text, re.MULTILINE)) <= LANGUAGES


CURL_SCRIPTS = sorted((ROOT / "clients" / "curl").glob("*.sh"))


@pytest.mark.parametrize("source", [*PAGES, *CURL_SCRIPTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_an_old_curl_runs_every_line(source: Path) -> None:
    text = source.read_text("utf-8")
    blocks = [text] if source.suffix == ".sh" else [match["code"] for match in FENCE.finditer(text)]
    assert not [option for block in blocks if "curl " in block for option in TOO_NEW if option in block]


def test_the_example_of_every_operation_succeeds(server: ServerProcess) -> None:
    recorded = answers()
    for step, answer in send(STEPS, server.http):
        shown = recorded.pop(step.operation, {}).get("body")
        if isinstance(shown, dict):
            again = "record the answers again: python -m tools.docs.http_client URL"
            assert answer.json().keys() == shown.keys(), f"{step.operation}: {again}"
    assert not server.tracebacks()
