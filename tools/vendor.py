"""Fetches the JavaScript libraries of the page with npm and writes them into the package: `python -m tools.vendor`.

The page has no build step: browsers load these files as they are. Imports by package name become relative paths,
because an import map would have to be an inline script, which the page's Content-Security-Policy refuses.
"""

import re
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "app/page/static/vendor"
TESTS = ROOT / "tests/page/vendor"


@dataclass(frozen=True, slots=True)
class Library:
    """A package of npm at a version, with the files that are taken from it by the names they get."""

    package: str
    version: str
    license: str
    use: str
    files: Mapping[str, str]
    folder: Path = PAGE

    @property
    def license_file(self) -> str:
        """Name of the copy of its licence."""
        return f"LICENSE-{self.package.removeprefix('@').replace('/', '-')}.txt"


LIBRARIES = (
    Library(
        "preact", "11.2.0", "MIT", "rendering",
        {"preact.js": "dist/preact.mjs", "hooks.js": "hooks/dist/hooks.mjs"},
    ),
    Library("htm", "3.1.1", "Apache-2.0", "templates without a compiler", {"htm.js": "dist/htm.mjs"}),
    Library(
        "@preact/signals-core", "1.14.5", "MIT", "shared state", {"signals-core.js": "dist/signals-core.mjs"}
    ),
    Library("@preact/signals", "2.11.4", "MIT", "shared state in components", {"signals.js": "dist/signals.mjs"}),
    Library(
        "uplot", "1.6.32", "MIT", "curves", {"uplot.js": "dist/uPlot.esm.js", "uplot.css": "dist/uPlot.min.css"}
    ),
    Library(
        "axe-core", "4.14.1", "MPL-2.0", "accessibility checks of the tests", {"axe.min.js": "axe.min.js"}, TESTS
    ),
)  # fmt: skip

MODULES: Mapping[str, str] = {
    "preact": "./preact.js",
    "preact/hooks": "./hooks.js",
    "@preact/signals-core": "./signals-core.js",
}
_IMPORT = re.compile(r"""(\bfrom\s*)(["'])(@?[a-z][a-z0-9/-]*)\2""")
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$\n?", re.MULTILINE)


def main() -> None:
    """Fetch every library, and write the table of what there is."""
    for folder in (PAGE, TESTS):
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
    for library in LIBRARIES:
        with tempfile.TemporaryDirectory() as name:
            _fetch(library, Path(name))
    for folder in (PAGE, TESTS):
        (folder / "NOTICE.md").write_text(notice(folder), "utf-8")


def notice(folder: Path) -> str:
    """Return the table of the libraries in a folder, with their versions and licences."""
    rows = [
        f"| {each.package} | {each.version} | {each.license} | {each.use} | {', '.join(each.files)} "
        f"| {each.license_file} |"
        for each in LIBRARIES
        if each.folder == folder
    ]
    head = [
        "# Libraries from npm",
        "",
        "Written by `make vendor`. Imports by package name are replaced by paths, and references to source maps are",
        "removed; apart from that the files are as published.",
        "",
        "| package | version | licence | used for | files | text of the licence |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def _fetch(library: Library, scratch: Path) -> None:
    name = f"{library.package}@{library.version}"
    subprocess.run(["npm", "pack", "--silent", name], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
    (archive,) = scratch.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(scratch, filter="data")
    source = scratch / "package"
    for target, path in library.files.items():
        text = (source / path).read_text("utf-8")
        (library.folder / target).write_text(_rewritten(text), "utf-8")
    (library.folder / library.license_file).write_text((source / "LICENSE").read_text("utf-8"), "utf-8")


def _rewritten(text: str) -> str:
    """Return a module with relative imports; KeyError for a package that is not among MODULES."""
    text = _SOURCE_MAP.sub("", text)
    return _IMPORT.sub(lambda found: f"{found[1]}{found[2]}{MODULES[found[3]]}{found[2]}", text)


if __name__ == "__main__":
    main()
