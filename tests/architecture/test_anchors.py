"""Every link to a heading, of its own page or of another one, leads to one."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.snippets import FENCE, PAGES, ROOT

LINK = re.compile(r"\]\((?P<page>[^)#\s]*)#(?P<anchor>[^)\s]+)\)")
LABEL = re.compile(r"^\((?P<label>[\w-]+)\)=$", re.MULTILINE)
HEADING = re.compile(r"^#{1,3} +(?P<title>.*?) *$", re.MULTILINE)
INCLUDE = re.compile(r"^```\{include\} (?P<page>\S+)\n```$", re.MULTILINE)
LINKING = sorted({*PAGES, *(ROOT / "docs/reference").rglob("*.md")})


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page: its labels and those of its headings, as MyST makes them down to level 3 and GitHub
    on all levels, and those of the page that it includes.
    """
    found: list[str] = []
    text = page.read_text("utf-8")
    for heading in HEADING.finditer(FENCE.sub("", text)):
        title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading["title"])
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count = sum(re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", each) is not None for each in found)
        found.append(f"{anchor}-{count}" if count else anchor)
    included = [anchors((page.parent / each["page"]).resolve()) for each in INCLUDE.finditer(text)]
    return frozenset([*found, *LABEL.findall(text)]).union(*included)


def test_headings_become_anchors(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "(label)=\n# A `name`, and more\n## Twice\n## Twice\n### [Linked](x.md) part\n```sh\n# no heading\n```\n"
    )
    assert anchors(page) == {"label", "a-name-and-more", "twice", "twice-1", "linked-part"}


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_heading_leads_to_one(page: Path) -> None:
    links = [link for link in LINK.finditer(FENCE.sub("", page.read_text("utf-8"))) if "://" not in link["page"]]
    targets = [((page.parent / link["page"]).resolve() if link["page"] else page, link["anchor"]) for link in links]
    assert not [(to, anchor) for to, anchor in targets if to.suffix == ".md" and anchor not in anchors(to)]
