"""Stored files are opened through `app.service.resources.blobs`, which compares them with their digests."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

APP = Path(__file__).parents[2] / "app"
OTHERS: Mapping[str, str] = {
    "app/service/resources/datasets.py": "the upload itself, which was just written",
    "app/service/resources/checkpoints.py": "the upload itself, which was just written",
    "app/service/sessions/step_files.py": "a file that was just taken over, by its digest",
    "app/service/admin/backup.py": "compares what it copies with the digest, and says at the end where it differs",
    "app/service/resources/blobs.py": "hands out paths of columns to processes that check what they open",
}
"""Who may ask the store for a file that is not verified, and why."""

OPENING = re.compile(r"\blocal_path\b|blobs\s*\.\s*open\b")
"""Text that a module has if it opens one: most modules need not be parsed."""


def opens_unverified(path: Path) -> bool:
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)) if OPENING.search(text) else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_blobs = ast.unparse(node.func.value).endswith("blobs")
            if node.func.attr == "local_path" or (node.func.attr == "open" and of_blobs):
                return True
    return False


def test_no_stored_file_is_opened_before_it_is_compared_with_its_digest() -> None:
    files = [path for path in APP.rglob("*.py") if "blobs" not in path.relative_to(APP).parts[:-1]]
    found = {path.relative_to(APP.parent).as_posix() for path in files if opens_unverified(path)}
    assert found == set(OTHERS)
