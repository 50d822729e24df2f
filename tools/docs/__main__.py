"""Writes the generated pages: `python -m tools.docs`; with `--check` it only says which are out of date."""

import argparse
import sys
from pathlib import Path

from tools.docs.examples import FILE, examples_text
from tools.docs.pages import REFERENCE, generated, outdated


def main() -> int:
    """Write the pages, or check them; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is out of date")
    old, examples = outdated(), examples_text()
    has_old_examples = not FILE.exists() or FILE.read_text("utf-8") != examples
    if parser.parse_args().check:
        sys.stderr.writelines(f"{path} is out of date; run `python -m tools.docs`\n" for path in old)
        if has_old_examples:
            sys.stderr.write(f"{FILE.name} is out of date; run `python -m tools.docs`\n")
        return int(bool(old) or has_old_examples)
    FILE.write_text(examples, "utf-8")
    texts = generated()
    for path in old:
        _write(REFERENCE / path, texts.get(path))
    return 0


def _write(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
