"""The files of the page: complete without any other server, open without a key, strict about what they may load."""

import posixpath
import re
import shutil
import subprocess

import httpx
import pytest

from app.cli.demo import dataset_path
from app.page.files import CONTENT_TYPES, contents
from tests.support.server import ROOT, StartServer
from tools.vendor import LIBRARIES, PAGE, TESTS, notice

STATIC = ROOT / "app/page/static"
STATIC_IMPORT = r"""\bfrom\s*["']([^"'\s]+)["']"""
LATER_IMPORT = r"""\bimport\(["']([^"'\s]+)["']"""
PARSE = """
import {readFileSync} from "node:fs";
import {SourceTextModule} from "node:vm";
const paths = process.argv.slice(1);
for (const path of paths) new SourceTextModule(readFileSync(path, "utf8"), {identifier: path});
console.log(paths.length);
"""
"""Parses modules without running them; fails with the place of a mistake."""
SCRIPTS = sorted(path for path in STATIC.rglob("*.js") if path.parent != PAGE)


def test_the_page_comes_from_the_server_without_a_key(start_server: StartServer) -> None:
    http = start_server(api_key="a-key-for-the-tests-of-the-page").http
    for path in ("/", *(f"/page/{name}" for name in contents())):
        answer = http.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"].partition(";")[0] in CONTENT_TYPES.values()
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
    assert http.get("/", headers={"If-None-Match": http.get("/").headers["etag"]}).status_code == 304
    addresses = re.findall(r'(?:src|href)="(page/[^"]+)"', http.get("/").text)
    for address in addresses:
        versioned = http.get(f"/{address}")
        assert versioned.status_code == 200, address
        assert "immutable" in versioned.headers["cache-control"]
    older = re.sub(r"[0-9a-f]{16}", "0" * 16, addresses[-1])
    assert http.get(f"/{older}").headers["cache-control"] == http.get("/").headers["cache-control"] == "no-cache"
    assert http.get("/v1/fits").status_code == 401
    for name in ("vendor/NOTICE.md", "..%2Ffiles.py", "lib", ""):
        assert http.get(f"/page/{name}").status_code == 404
    assert http.post("/").status_code == 401


def test_a_setting_removes_the_page(start_server: StartServer) -> None:
    http = start_server(page=False).http
    assert [http.get(path).status_code for path in ("/", "/page/app.js", "/docs")] == [404, 404, 200]


def imported(name: str, form: str) -> set[str]:
    """Return the modules that a module imports in a form, by their paths."""
    found = re.findall(form, contents()[name].decode())
    return {posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) for path in found}


def closure(names: set[str]) -> set[str]:
    """Return the modules that are loaded with some modules."""
    loaded: set[str] = set()
    while names:
        loaded |= names
        names = set().union(*(imported(name, STATIC_IMPORT) for name in names)) - loaded
    return loaded


def test_the_modules_of_the_first_view_are_requested_at_once_and_the_others_later() -> None:
    preloaded = re.findall(r'modulepreload" href="page/([^"]+)"', contents()["index.html"].decode())
    first = closure({"app.js"})
    assert sorted([*preloaded, "app.js"]) == sorted(first)
    later = set().union(*(imported(name, LATER_IMPORT) for name in first))
    assert later
    assert first | closure(later) == {name for name in contents() if name.endswith(".js")}


def test_nothing_is_loaded_from_another_server_or_inline(http: httpx.Client) -> None:
    index = contents()["index.html"].decode()
    assert not re.search(r"<script(?![^>]*src=)|<style|style=|\son\w+=", index)
    for name, content in contents().items():
        text = content.decode()
        for address in (
            re.findall(r"""\b(?:from|import\()\s*["']([^"'\s]+)["']""", text) if name.endswith(".js") else []
        ):
            assert address.startswith(("./", "../")), (name, address)
        if not name.startswith("vendor/"):
            assert "innerHTML" not in text
            assert not re.search(r"""["'`]https?://""", text.replace("http://www.w3.org/2000/svg", "")), name


def test_the_table_of_libraries_names_every_vendored_file() -> None:
    for folder in (PAGE, TESTS):
        assert (folder / "NOTICE.md").read_text() == notice(folder)
        here = [library for library in LIBRARIES if library.folder == folder]
        named = {name for library in here for name in (*library.files, library.license_file)}
        assert {path.name for path in folder.iterdir()} == {*named, "NOTICE.md"}


def test_the_first_example_trains_on_the_data_of_the_demo() -> None:
    assert contents()["examples/iris.csv"] == dataset_path("iris").read_bytes()


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_scripts_are_valid_modules() -> None:
    command = ["node", "--experimental-vm-modules", "--no-warnings", "--input-type=module", "--eval", PARSE]
    done = subprocess.run([*command, *map(str, SCRIPTS)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{len(SCRIPTS)}\n", "")
