"""The pages of the README and of docs/: what they name exists, and their blocks are of kinds that are tested."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import engine
from app.api.schemas.fit_request import FitRequest
from app.service.fits.admission import recipe_of
from tests.support.snippets import FENCE, PAGES, ROOT, pages_with, snippets

README_LINES_MAX = 150
LANGUAGES = {"python", "sh", "json", "text", "mermaid"}
TOO_NEW = ("%header{", "--json", "--fail-with-body", "--url-query", "%output{")
"""What curl 7.68 does not know."""


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
