"""Ways in that other servers had, and that this one does not have at all: nothing is fetched, nothing is run."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import contract, syntax

ROOT = Path(__file__).parents[2]
SERVER = ("api", "blobs", "domain", "ingest", "runner", "service", "store", "worker")
NETWORK = {"aiohttp", "ftplib", "http.client", "httpx", "requests", "smtplib", "telnetlib", "urllib.request", "urllib3"}
DESERIALIZERS = {"_pickle", "cloudpickle", "dill", "joblib", "marshal", "multiprocessing", "pickle", "shelve", "yaml"}
CONNECTING = {"app/runner/cluster/connection.py"}
"""What may connect, to addresses of the server's settings alone: that of a Ray head, and those of its nodes."""
PLACES = {"url", "uri", "path", "dsn", "file", "filename", "href", "host", "endpoint", "webhook", "callback"}
EVALUATORS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen"}
RESOLVERS = {"socket.create_connection", "socket.getaddrinfo"}
EXCEPTIONS = {
    "engine/execution/native/compilation.py": {"multiprocessing"},
    "engine/execution/plan/module_source.py": {"compile"},
}
"""Processes and code of the engine's own making: kernels, in which nothing stands that a client has written."""
DOCUMENT = contract()
OPERATIONS = [operation for operations in DOCUMENT["paths"].values() for operation in operations.values()]


def modules(*parts: str) -> list[Path]:
    return [path for part in parts for path in sorted((ROOT / part).rglob("*.py"))]


def having(paths: Iterable[Path], names: set[str]) -> list[Path]:
    """Return the modules whose text has one of the names, all of its parts: to parse all modules takes seconds."""
    texts = {path: path.read_text("utf-8") for path in paths}
    return [path for path, text in texts.items() if any(_has(text, name.split(".")) for name in names)]


def _has(text: str, parts: list[str]) -> bool:
    # What stands behind a dot is another name: most that is called `compile` belongs to `re`.
    return all(part in text for part in parts) and re.search(rf"(?<![\w.]){parts[0]}\b", text) is not None


@cache
def imports(path: Path) -> frozenset[str]:
    return frozenset(_imports(path))


@cache
def called(path: Path) -> frozenset[str]:
    """Return what is called by a name, or by a name and one more."""
    return frozenset(_called(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _called(path: Path) -> Iterator[str]:
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(name):
                    yield name
                case ast.Attribute(ast.Name(module), name):
                    yield f"{module}.{name}"


def fields(schema: Any, seen: set[str]) -> Iterator[tuple[str, str]]:
    """Yield name and format of every field that a body of the schema may have, at any depth; a shape only once."""
    if isinstance(schema, list):
        for part in schema:
            yield from fields(part, seen)
    if not isinstance(schema, dict):
        return
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        seen.add(reference)
        yield from fields(DOCUMENT["components"]["schemas"][reference.rpartition("/")[2]], seen)
    for name, inner in schema.get("properties", {}).items():
        yield name, inner.get("format", "")
    for inner in schema.values():
        yield from fields(inner, seen)


@pytest.mark.parametrize("part", ["app/api", "app/service", "app/main/application.py", "app/http/server.py"])
def test_no_address_is_made_from_what_a_client_says_the_address_is(part: str) -> None:
    """Incident S5: addresses that a framework puts together from Host and path, and that a server then trusts."""
    for path in modules(part) or [ROOT / part]:
        used = {node.attr for node in ast.walk(syntax(path)) if isinstance(node, ast.Attribute)}
        assert not {"url", "base_url", "url_for", "url_path_for", "hostname", "netloc"} & used, path


def test_no_request_names_an_address_or_a_path() -> None:
    """Incident S7: files and databases that a server imports because a client names them."""
    seen: set[str] = set()
    found = {each for operation in OPERATIONS for each in fields(operation.get("requestBody", {}), seen)}
    assert len(found) > 100
    assert not [name for name, kind in found if name.lower() in PLACES or kind in {"uri", "uri-reference", "hostname"}]
    parameters = {parameter["name"] for operation in OPERATIONS for parameter in operation.get("parameters", ())}
    assert not parameters & PLACES


@pytest.mark.parametrize("part", SERVER)
def test_the_server_connects_to_nobody(part: str) -> None:
    """Incident S8: requests that a server makes for a client. There is nothing here that could make one."""
    for path in having(modules(f"app/{part}"), NETWORK | RESOLVERS):
        assert not NETWORK & {*imports(path)}, path
        if path.relative_to(ROOT).as_posix() not in CONNECTING:
            assert not RESOLVERS & {*called(path)}, path


@pytest.mark.parametrize("part", ["app", "engine"])
def test_nothing_is_run_that_comes_from_a_file_or_a_message(part: str) -> None:
    """Incident S9: pickles, inside a server as well."""
    for path in having(modules(part), DESERIALIZERS | EVALUATORS):
        allowed = EXCEPTIONS.get(path.relative_to(ROOT).as_posix(), set())
        named = {name.partition(".")[0] for name in imports(path)}
        assert not (DESERIALIZERS & named) - allowed, path
        assert not (EVALUATORS & {*called(path)}) - allowed, path
    assert not [path for path in modules(part) if "allow_pickle=True" in path.read_text("utf-8")]


@pytest.mark.parametrize(
    "source", ["import pickle", "from os import path\nos . system('ls')", "from urllib import request", "x = eval (y)"]
)
def test_modules_that_may_break_a_rule_are_parsed(source: str, tmp_path: Path) -> None:
    names = NETWORK | DESERIALIZERS | EVALUATORS
    (tmp_path / "found.py").write_text(source)
    (tmp_path / "other.py").write_text("import ast\nevaluate(unpickled)")
    (path,) = having(sorted(tmp_path.iterdir()), names)
    assert path.name == "found.py"
    assert names & {*imports(path), *called(path)}
