import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from jsonschema import Draft202012Validator

from app.api.openapi import check_operation_ids
from app.api.openapi_kinds import FAMILIES
from app.http.request_scope import OPEN_PATHS
from app.main.application import openapi_document
from engine.data.table.section import KINDS as KINDS_OF_COLUMNS

KINDS = sorted(family.suffix for family in FAMILIES.values())
ROOT = Path(__file__).parents[3]
VERBS = {
    "append", "cancel", "check", "clear", "close", "compute", "copy", "create", "delete", "differentiate", "download",
    "draw", "duplicate", "evaluate", "expand",
    "extend", "find", "free", "get", "join", "kill", "list", "load", "mark", "match", "name",
    "pause", "plan", "predict", "print", "profile", "replace", "replay", "reset", "resume", "revoke", "run", "save",
    "scrape", "select", "set", "split", "stream", "trace", "update", "validate", "view", "zero",
}  # fmt: skip


@cache
def document() -> dict[str, Any]:
    """Return the document in the order in which the server gives it out, as a client reads it."""
    read: dict[str, Any] = json.loads(json.dumps(openapi_document()))
    return read


def operations() -> list[dict[str, Any]]:
    return [operation for path in document()["paths"].values() for operation in path.values()]


def references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*map(references, node.values()))
    return set().union(*map(references, node)) if isinstance(node, list) else set()


def test_a_server_whose_hashes_have_another_seed_gives_out_the_same_document_word_for_word(http: httpx.Client) -> None:
    assert json.dumps(http.get("/openapi.json").json()) == json.dumps(document())


def test_every_operation_is_a_verb_and_a_noun() -> None:
    names = [operation["operationId"] for operation in operations()]
    assert len({*names}) == len(names)
    for name in names:
        verb, _, noun = name.partition("_")
        assert verb in VERBS, name
        assert noun, name


def test_two_operations_of_one_name_stop_the_start() -> None:
    router = APIRouter()
    router.add_api_route("/a", lambda: None, name="get_thing")
    router.add_api_route("/b", lambda: None, name="get_thing")
    with pytest.raises(ValueError, match="get_thing"):
        check_operation_ids([route for route in router.routes if isinstance(route, APIRoute)])


def test_every_operation_has_one_shape_of_errors_and_says_what_it_does() -> None:
    assert document()["openapi"].startswith("3.1")
    for operation in operations():
        assert operation["responses"]["default"] == {"$ref": "#/components/responses/Problem"}
        assert "422" not in operation["responses"]
        assert operation["description"]
        assert operation["tags"]


def test_every_reference_leads_somewhere_and_every_shape_is_used() -> None:
    found = references(document())
    shapes = {f"#/components/schemas/{name}" for name in document()["components"]["schemas"]}
    responses = {f"#/components/responses/{name}" for name in document()["components"]["responses"]}
    assert found == shapes | responses


def test_every_operation_says_which_scope_a_key_needs() -> None:
    for path, operations in document()["paths"].items():
        for method, operation in operations.items():
            if path in OPEN_PATHS:
                assert operation["security"] == []
                continue
            administration = path.split("/")[2:3] in (["keys"], ["audit"], ["backup"])
            scope = "admin" if administration else "read" if method == "get" else "train"
            assert operation["security"] == [{}, {"bearer": [scope]}, {"key": [scope]}]
            assert {"401", "403", "429"} <= operation["responses"].keys()


def test_uploads_are_declared_as_bytes_and_streams_as_streams() -> None:
    content = document()["paths"]["/v1/datasets"]["post"]["requestBody"]["content"]
    assert content["application/x-npy"]["schema"] == {"type": "string", "format": "binary"}
    assert content["application/json"]["schema"] == {"$ref": "#/components/schemas/InlineDataset"}
    events = document()["paths"]["/v1/fits/{fit_id}/events"]["get"]["responses"]["200"]["content"]
    assert events.keys() == {"text/event-stream"}


def test_descriptions_are_sentences() -> None:
    for operation in operations():
        assert re.match(r"[A-Z].*[.]$", operation["description"], re.DOTALL), operation["description"]


def test_every_operation_parameter_and_field_is_described() -> None:
    missing = [op["operationId"] for op in operations() if not op.get("summary") or not op.get("description")]
    missing += [
        f"{op['operationId']}?{p['name']}"
        for op in operations()
        for p in op.get("parameters", ())
        if not p.get("description")
    ]
    for name, schema in document()["components"]["schemas"].items():
        fields = schema.get("properties", {})
        missing += [f"{name}.{field}" for field, spec in fields.items() if not {"description", "$ref"} & spec.keys()]
    assert missing == []


def sent_schemas() -> dict[str, dict[str, Any]]:
    """Return the schemas of everything that a client sends in a body, by name."""
    schemas, found = document()["components"]["schemas"], set[str]()
    waiting = references([operation.get("requestBody") for operation in operations()])
    while waiting:
        found |= waiting
        waiting = references([schemas[each.rpartition("/")[2]] for each in waiting]) - found
    return {name: schemas[name] for name in sorted(each.rpartition("/")[2] for each in found)}


def sent_fields() -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield each field of a request: its place, its schema, and whether it is required."""
    for name, schema in sent_schemas().items():
        for field, spec in schema.get("properties", {}).items():
            yield f"{name}.{field}", spec, field in schema.get("required", ())


def query_parameters() -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield each query parameter as `sent_fields` yields fields."""
    for operation in operations():
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "query":
                spec = {**parameter["schema"], "description": parameter["description"]}
                yield f"{operation['operationId']}?{parameter['name']}", spec, parameter["required"]


def numbers(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a schema that stand for a number."""
    if spec.get("type") in ("integer", "number"):
        yield spec
    for part in (*spec.get("anyOf", ()), *([spec["items"]] if "items" in spec else ())):
        yield from numbers(part)


def has_range(spec: dict[str, Any]) -> bool:
    bounded = all({"minimum", "exclusiveMinimum"} & each.keys() for each in numbers(spec))
    return bounded or RANGE.search(spec["description"]) is not None


DEFAULT = re.compile("default|left out|required", re.IGNORECASE)
RANGE = re.compile(r"at least|greater than|from 0|-?[0-9.e*-]+ to -?[0-9]|\bany\b", re.IGNORECASE)
UNIT = re.compile(
    r"\b(number|bytes|seconds?|threads|cpus?|processes|rows?|examples|batch(es)?|steps?|epochs?|evaluations|attempt|"
    r"positions?|index|indices|axis|axes|elements?|nodes?|leafs|classes|points|bins|pieces|measurements|combinations|"
    r"variants|occurrences|checkpoints|events|seed|level|norms?|value|gradient|variance|factor|ratio|share|scale|decay|"
    r"exponent|percentile|probability|tolerance|improvement|result|priority|schedules|alpha|entries)\b",
    re.IGNORECASE,
)
OPTION = re.compile(rf"({'|'.join(KINDS)})\.")
"""A field of a kind of the engine's catalogues, which declares its options by their types."""


def defaults(node: Any, place: str) -> Iterator[str]:
    """Yield the place of each part of a schema with the keyword `default`, which is no name of a field."""
    if isinstance(node, dict):
        yield from [place] * (not place.endswith("/properties") and "default" in node)
        for name, child in node.items():
            yield from defaults(child, f"{place}/{name}")
    if isinstance(node, list):
        for child in node:
            yield from defaults(child, place)


def test_no_field_that_clients_send_has_a_default() -> None:
    """Generators of types, such as openapi-typescript, require a field with a default."""
    assert [place for name, schema in sent_schemas().items() for place in defaults(schema, name)] == []


def test_every_optional_field_of_a_request_says_what_leaving_it_out_means() -> None:
    """A filter of a list, which lets only some entries pass, lets all pass if it is left out."""
    fields = [*sent_fields(), *query_parameters()]
    silent = [
        place
        for place, spec, required in fields
        if not required
        and "default" not in spec
        and not DEFAULT.search(spec["description"])
        and not ("?" in place and spec["description"].startswith("Only "))
    ]
    assert len(fields) > 800
    assert silent == []


def test_every_number_of_a_request_has_a_range_and_a_unit() -> None:
    found = [
        (place, spec)
        for place, spec, _ in (*sent_fields(), *query_parameters())
        if any(numbers(spec)) and not OPTION.search(place)
    ]
    assert len(found) > 200
    assert [place for place, spec in found if not has_range(spec)] == []
    assert [place for place, spec in found if not UNIT.search(spec["description"])] == []


def test_the_verbs_of_ggml_have_a_tag_of_their_own_at_the_end() -> None:
    tags = [operation["tags"] for operation in operations()]
    ggml = tags.count(["ggml"])
    assert ggml == 32
    assert tags[-ggml:] == [["ggml"]] * ggml


def test_every_operation_has_an_example() -> None:
    """The examples are the steps of the HTTP reference, which a test sends to a server."""
    missing = []
    for operation in operations():
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        shown = [each for body in bodies for each in body.get("content", {}).values()]
        if not any("example" in each for each in (*shown, *operation.get("parameters", ()))):
            missing.append(operation["operationId"])
    assert missing == []


TAKEN = (
    None,
    {"x": "age"},
    {"x": ["age", {"column": "fare"}]},
    {"x": {"columns": ["age", "fare"], "impute": "median", "indicator": True, "scale": "standard"}},
    {"x": [{"column": "sex", "kind": "category"}, {"column": "boarded", "kind": "date", "parts": ["year"]}]},
)
WRONG = (
    {"x": 3},
    {"x": {"column": "a", "kind": "numbers"}},
    {"x": {"column": "a", "kind": "number", "impute": "best"}},
    {"x": [{"column": "a", "kind": "category", "min_frequency": 0}]},
    {"x": {"column": "a", "impute": "best"}},
)


def test_transforms_of_columns_are_a_union_of_the_registered_ones() -> None:
    schemas = document()["components"]["schemas"]
    assert list(schemas["TransformChoice"]["discriminator"]["mapping"]) == list(KINDS_OF_COLUMNS)
    place = {"$ref": "#/components/schemas/FitRequest/properties/columns", "components": {"schemas": schemas}}
    validator = Draft202012Validator(place)
    for section in TAKEN:
        validator.validate(section)
    for section in WRONG:
        assert not validator.is_valid(section), section
