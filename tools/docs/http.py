"""The HTTP reference: a page for each tag of clients/openapi.json, with an example of each operation."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from tools.docs.http_client import answers
from tools.docs.http_steps import STEPS, Step
from tools.docs.inventory import ROOT
from tools.docs.markdown import code, compact, page, table

Json = Any

ABOUT = """Base URL: that of the server, `http://127.0.0.1:8000` by default. The same operations are in
`/openapi.json` and, in a browser, at `/docs` of a running server. In the examples, `$FIT`, `$GRAPH` and the
like are ids from earlier answers; answers are shortened: long lists and texts end early.

* **Errors** are `application/problem+json`: [error codes](../errors.md). **Unknown fields** are errors at every
  level.
* **Keys**: send `Authorization: Bearer KEY` or `X-API-Key: KEY`; a server on loopback without keys needs none.
* **Lists**: `{"object": "list", "data": [...], "has_more": ..., "next_cursor": ...}`; pass `next_cursor` as
  `cursor`.
* **Idempotency-Key**: on every POST that creates or steps; the same key and body give the first answer again.
* **ETag**: send it as `If-None-Match`; an unchanged resource is answered 304.
* **Numbers**: JSON has no NaN; a non-finite value is `null`, and `nonfinite` names it.
* **Tensors**: `{"dtype": ..., "shape": [...], "data": [...]}`, nested lists or a number; in bulk as `.npy` or
  safetensors bodies."""


class Operation(NamedTuple):
    """An operation of the document, with its method and path."""

    method: str
    path: str
    fields: Json


@cache
def document() -> Json:
    """Return the OpenAPI document."""
    return json.loads((ROOT / "clients" / "openapi.json").read_text("utf-8"))


def operations() -> Iterator[Operation]:
    """Yield every operation."""
    for path, methods in document()["paths"].items():
        for method, fields in methods.items():
            yield Operation(method.upper(), path, fields)


def http_pages() -> dict[str, str]:
    """Return the text of each page by its path; ValueError if an operation has no example."""
    tags: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations():
        tags[operation.fields.get("tags", ["other"])[0]].append(operation)
    pages = {f"http/{_file(tag)}.md": _page(tag, found) for tag, found in tags.items()}
    return {"http/index.md": _index(tags), **pages}


def _file(tag: str) -> str:
    return tag.replace(" ", "-")


def _index(tags: Mapping[str, list[Operation]]) -> str:
    blocks = []
    for tag, found in tags.items():
        rows = [(f"`{each.method}`", f"`{each.path}`", _link(tag, each)) for each in found]
        blocks += [f"## {tag.capitalize()}", table(("method", "path", "operation"), rows)]
    toc = code("\n".join([":hidden:", "", *map(_file, tags)]), "{toctree}")
    return page("HTTP reference", ABOUT, *blocks, toc)


def _link(tag: str, operation: Operation) -> str:
    return f"[{operation.fields['summary']}]({_file(tag)}.md#{operation.fields['operationId'].replace('_', '-')})"


def _page(tag: str, found: list[Operation]) -> str:
    steps = {step.operation: step for step in reversed(STEPS)}
    recorded = answers()
    blocks = []
    for operation in found:
        name = operation.fields["operationId"]
        if name not in steps or name not in recorded:
            raise ValueError(f"give the operation {name} a step in tools/docs/http_steps.py, and record its answer")
        blocks += [
            f"({name.replace('_', '-')})=\n## {operation.fields['summary']}",
            f"`{operation.method} {operation.path}`",
        ]
        blocks += [operation.fields.get("description", ""), *_takes(operation), *_example(steps[name], recorded[name])]
    return page(tag.capitalize(), *blocks)


def _takes(operation: Operation) -> Iterator[str]:
    given = [
        (f"`{each['name']}`", each["in"], _type(each["schema"]), each.get("description", ""))
        for each in operation.fields.get("parameters", ())
        if each["in"] != "path"
    ]
    if given:
        yield table(("parameter", "in", "type", "description"), given)
    content = operation.fields.get("requestBody", {}).get("content", {})
    if content:
        yield "Body: " + ", ".join(f"`{kind}`" for kind in content) + "."
    yield from _fields(content.get("application/json", {}).get("schema", {}))


def _fields(schema: Json) -> Iterator[str]:
    schema = _resolved(schema)
    needed = schema.get("required", ())
    rows = [
        (f"`{name}`", "yes" if name in needed else "", _type(each), each.get("description", ""))
        for name, each in schema.get("properties", {}).items()
    ]
    if rows:
        yield table(("field", "required", "type", "description"), rows)


def _resolved(schema: Json) -> Json:
    reference = schema.get("$ref")
    return document()["components"]["schemas"][reference.rpartition("/")[2]] if reference else schema


def _type(schema: Json) -> str:
    """Return a schema in a few words: types, range, default."""
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    for join in ("anyOf", "oneOf"):
        if join in schema:
            parts = list(dict.fromkeys(_type(each) for each in schema[join]))
            return " or ".join(parts) + _default(schema)
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{each}`" for each in schema.get("enum", [schema.get("const")])) + _default(schema)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}" + _default(schema)
    kind = str(schema.get("type", "any"))
    words = [f"{word} {schema[key]}" for key, word in RANGES.items() if key in schema]
    return ", ".join([kind, *words]) + _default(schema)


RANGES = {
    "minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<",
    "minLength": "characters ≥", "maxLength": "characters ≤",
}  # fmt: skip


def _default(schema: Json) -> str:
    default = schema.get("default")
    return f"; default `{json.dumps(default)}`" if default is not None else ""


def _example(step: Step, recorded: Json) -> Iterator[str]:
    yield code(curl(step), "sh")
    kind = f", `{recorded['type']}`" if "type" in recorded else ""
    yield f"{recorded['status']}{kind}" + (":" if "body" in recorded else ".")
    if "body" in recorded:
        text = recorded["body"]
        yield code(text, "text") if isinstance(text, str) else code(compact(text))


def curl(step: Step) -> str:
    """Return a step as a command line."""
    path = step.path
    for name in _names(path):
        path = path.replace(f"{{{name}}}", f"${{{name}}}" if f"{{{name}}}:" in path else f"${name}")
    words = ["curl -s"]
    if step.method not in ("GET", "POST") or (step.method == "POST" and step.body is None):
        words.append(f"-X {step.method}")
    words += [f"-H '{name}: {value}'" for name, value in step.headers.items()]
    if step.saves == "FILE":
        words.append("-o checkpoint.safetensors")
    if step.operation == "download_backup":
        words.append("-o backup.tar")
    if step.body is not None and not isinstance(step.body, str):
        words.append("-H 'Content-Type: application/json'")
    line = " ".join([*words, f'"$URL{path}"'])
    return f"{line} {_data(step.body)}" if step.body is not None else line


def _data(body: Json) -> str:
    if body == "{FILE}":
        return "--data-binary @checkpoint.safetensors"
    if isinstance(body, str):
        return "\\\n  --data-binary $'" + body.replace("\n", "\\n") + "'"
    text = compact(body)
    for name in _names(text):
        text = text.replace(f"{{{name}}}", f"'\"${name}\"'")
    return f"-d '{text}'" if "\n" not in text and len(text) < 60 else f"\\\n  -d '{text}'"


def _names(text: str) -> list[str]:
    return [word.partition("}")[0] for word in text.split("{")[1:] if word.partition("}")[0].isupper() and "}" in word]
