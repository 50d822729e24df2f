"""The code blocks of the README and of docs/, as the tests run them.

The blocks of a page in one language run in order and share their names, as the cells of a notebook do. A `text` block
right after a block is its expected output, in which `...` stands for any text. Comments before a block:
`<!-- not run: reason -->` leaves it out, `<!-- graph -->` says that a JSON block is a graph document,
`<!-- fit -->` that it holds fields of a fit.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
CLIENTS = (ROOT / "clients" / "python" / "README.md",)
"""Pages that docs/ includes."""

PAGES = tuple(
    page
    for page in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *CLIENTS)
    if not {"_build", "http"} & {*page.relative_to(ROOT).parts} and page.name != "CHANGELOG.md"
)
"""Without the HTTP reference, whose requests are sent by a test of their own."""

PRINTED_URL = "http://127.0.0.1:8000"
FENCE = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*) -->\n)?^[ ]*```(?P<language>\w+)\n(?P<code>.*?)^[ ]*```$"
    r"(?:\n+```text\n(?P<expected>.*?)```$)?",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Snippet:
    """A code block, the note in the comment before it, and its expected output."""

    language: str
    code: str
    note: str
    expected: str | None

    @property
    def runs(self) -> bool:
        """Whether the block is run."""
        return not self.note.startswith("not run: ")

    def matches(self, output: str) -> bool:
        """Return whether the output is the expected one."""
        if self.expected is None:
            return True
        pattern = ".*?".join(re.escape(part) for part in self.expected.strip().split("..."))
        return re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


def snippets(page: Path, language: str | None = None) -> Iterator[Snippet]:
    """Yield the blocks of a page that are run, in order."""
    for match in FENCE.finditer(page.read_text(encoding="utf-8")):
        snippet = Snippet(match["language"], dedent(match["code"]), match["note"] or "", match["expected"])
        if snippet.runs and language in (None, snippet.language):
            yield snippet


def pages_with(language: str) -> list[str]:
    """Return the pages that have such a block, by their paths in the repository."""
    return [str(page.relative_to(ROOT)) for page in PAGES if any(snippets(page, language))]
