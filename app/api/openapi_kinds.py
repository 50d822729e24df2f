"""Schemas of objects with a kind, as discriminated unions: one schema for each entry of the engine's catalogues.

They describe only: a request is read by the engine, which checks it by the registries that the catalogues list.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import engine

Json = dict[str, Any]
REFERENCE = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Family:
    """Objects of one union.

    Attributes:
        suffix: the end of the names of the schemas of its kinds.
        catalogue: the kinds.
        doc: what they are.
        tag: the field that names the kind.
        common: fields of every kind, beside those of the catalogue.
        is_open: whether there are further fields, such as the operands of a loss.
        stands_alone: whether a kind alone may stand for an object.
    """

    suffix: str
    catalogue: Callable[[], list[dict[str, Any]]]
    doc: str
    tag: str = "kind"
    common: Mapping[str, Json] = field(default_factory=dict)
    is_open: bool = False
    stands_alone: bool = True


_NAME = {"type": "string", "description": "Name of the layer, which prefixes its parameters; by default KIND_NUMBER."}
_PER = {"enum": ["epoch", "step"], "description": "Unit of the schedule. Default epoch."}
_GROUPS = {
    "anyOf": [{"type": "array", "items": {"$ref": f"{REFERENCE}GroupChoice"}, "maxItems": 64}, {"type": "null"}],
    "description": "Parameters with a kind or options of their own; the others are stepped by the common ones. "
    "Default none.",
}

_COLUMNS: Mapping[str, Json] = MappingProxyType(
    {
        "column": {"type": "string", "description": "A column of the dataset; this or columns is required."},
        "columns": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Columns of the dataset, side by side; this or column is required.",
        },
        "label": {"type": "string", "description": "Label of the column; by default that in the dataset."},
        "labels": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Labels of the columns; by default those in the dataset.",
        },
    }
)

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "OptimizerChoice": Family(
            "Optimizer",
            engine.optimizer_catalogue,
            "An optimizer by its kind, with its options beside it; see /v1/optimizers.",
            common={"groups": _GROUPS},
        ),
        "ScheduleChoice": Family(
            "Schedule",
            engine.schedule_catalogue,
            "A schedule of the learning rate by its kind, with its options beside it; see /v1/schedules.",
            common={"per": _PER},
        ),
        "MetricChoice": Family(
            "Metric", engine.metric_catalogue, "A metric by its kind, with its options beside it; see /v1/metrics."
        ),
        "LayerChoice": Family(
            "Layer",
            engine.layer_catalogue,
            "A layer by its kind, with its options beside it; see /v1/layers.",
            tag="layer",
            common={"name": _NAME},
        ),
        "LossChoice": Family(
            "Loss",
            engine.loss_catalogue,
            "A loss by its kind, with its options and the names of its operands beside it; see /v1/losses.",
            is_open=True,
        ),
        "InitializerChoice": Family(
            "Initializer",
            engine.initializer_catalogue,
            "An initializer by its kind, with its options beside it; see /v1/initializers.",
        ),
        "TransformChoice": Family(
            "Transform",
            engine.transform_catalogue,
            "Columns of the dataset, and what is done to their values, by its kind, with its options beside it.",
            common=_COLUMNS,
            stands_alone=False,
        ),
    }
)


def add_kinds(document: dict[str, Any]) -> None:
    """Replace the schema of each family by a union, and add the schemas of its kinds.

    Where a kind alone may stand for an object, the text is one of the kinds.
    """
    schemas = document["components"]["schemas"]
    for name, family in FAMILIES.items():
        mapping: dict[str, str] = {}
        for entry in family.catalogue():
            own = _schema_name(entry["kind"], family.suffix)
            _add(schemas, own, _kind_schema(entry, family))
            for kind in (entry["kind"], *entry.get("aliases", ())):
                mapping[kind] = f"{REFERENCE}{own}"
        schemas[name] = {
            "title": name,
            "description": family.doc,
            "oneOf": [{"$ref": reference} for reference in dict.fromkeys(mapping.values())],
            "discriminator": {"propertyName": family.tag, "mapping": mapping},
        }
        if family.stands_alone:
            kinds = {"title": _kinds_name(family), "type": "string", "enum": [*mapping], "description": "A kind."}
            _add(schemas, _kinds_name(family), kinds)
    _describe_graphs(schemas["GraphDefinition"]["properties"])
    _describe_columns(schemas)
    _name_kinds(document)


def _add(schemas: dict[str, Any], name: str, schema: Json) -> None:
    if name in schemas:
        raise ValueError(f"there is another schema called {name}; rename one of them")
    schemas[name] = schema


def _kinds_name(family: Family) -> str:
    return f"{family.suffix}Kind"


_OF_REFERENCE = {f"{REFERENCE}{name}": family for name, family in FAMILIES.items() if family.stands_alone}


def _name_kinds(node: Any) -> None:
    """Turn a text beside an object with a kind into one of the kinds."""
    if isinstance(node, dict):
        options = node.get("anyOf", ())
        families = [_OF_REFERENCE[each["$ref"]] for each in options if each.get("$ref") in _OF_REFERENCE]
        for place, each in enumerate(options):
            if families and each.get("type") == "string":
                options[place] = {"$ref": f"{REFERENCE}{_kinds_name(families[0])}"}
        node = [*node.values()]
    if isinstance(node, list):
        for child in node:
            _name_kinds(child)


def _describe_graphs(properties: dict[str, Any]) -> None:
    """Refer to layers, losses and initializers where graphs hold them."""
    layer = {"anyOf": [{"type": "string"}, {"$ref": f"{REFERENCE}LayerChoice"}]}
    loss = [{"type": "string", "description": "A kind."}, {"$ref": f"{REFERENCE}LossChoice"}, {"type": "null"}]
    shape = {"type": "array", "items": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]}}
    state: Json = {
        "type": "object",
        "properties": {
            "shape": shape,
            "dtype": {"type": "string", "description": "A dtype. Default float32."},
            "init": {"anyOf": [{"type": "string"}, {"$ref": f"{REFERENCE}InitializerChoice"}]},
            "frozen": {"type": "boolean", "description": "Whether no optimizer changes it. Default false."},
        },
        "required": ["shape"],
        "additionalProperties": False,
    }
    about = {name: properties[name].get("description", "") for name in ("layers", "loss", "parameters")}
    properties["layers"] = {
        "anyOf": [{"type": "array", "items": layer}, {"type": "null"}],
        "description": f"{about['layers']} A kind stands for a layer without options.".strip(),
    }
    properties["loss"] = {"anyOf": loss, "description": about["loss"]}
    properties["parameters"] = {
        "anyOf": [{"type": "object", "additionalProperties": {"anyOf": [shape, state]}}, {"type": "null"}],
        "description": about["parameters"],
    }


def _describe_columns(schemas: dict[str, Any]) -> None:
    """Refer to transforms in the `columns` section of a fit."""
    without_kind: Json = {
        "title": "ColumnsChoice",
        "description": "Columns of the dataset without a kind: options of a transform decide it; without any, numbers "
        "are taken as they are and texts one-hot.",
        "type": "object",
        "properties": {**{name: dict(schema) for name, schema in _COLUMNS.items()}, **_options_of_transforms()},
        "not": {"required": ["kind"]},
        "additionalProperties": False,
    }
    _add(schemas, "ColumnsChoice", without_kind)
    item = [
        {"type": "string", "description": "A column."},
        {"$ref": f"{REFERENCE}TransformChoice"},
        {"$ref": f"{REFERENCE}ColumnsChoice"},
    ]
    field = schemas["FitRequest"]["properties"]["columns"]
    listed = {"type": "array", "items": {"anyOf": item}}
    field["anyOf"] = [{"type": "object", "additionalProperties": {"anyOf": [*item, listed]}}, {"type": "null"}]


def _options_of_transforms() -> Json:
    """Return the options of all transforms, each with every schema that it has in one of them."""
    found: dict[str, list[Json]] = {}
    for entry in engine.transform_catalogue():
        for attribute in entry["attrs"]:
            schema = _option_schema(attribute)
            words = attribute["name"].replace("_", " ")
            schema["description"] = (
                f"{schema['description']} An option ({words}) with the default value of its transform."
            )
            if schema not in found.setdefault(attribute["name"], []):
                found[attribute["name"]].append(schema)
    return {name: each[0] if len(each) == 1 else _one_of(each) for name, each in found.items()}


def _one_of(schemas: list[Json]) -> Json:
    """Return the schema of an option that differs between transforms."""
    description = "Depends on the transform, as does the default."
    return {"description": description, "anyOf": [part for schema in schemas for part in _parts(schema)]}


def _kind_schema(entry: Mapping[str, Any], family: Family) -> Json:
    kinds = [entry["kind"], *entry.get("aliases", ())]
    tag = {"const": kinds[0]} if len(kinds) == 1 else {"enum": kinds}
    properties: dict[str, Any] = {family.tag: {"type": "string", **tag, "description": "The kind."}}
    properties |= {name: dict(schema) for name, schema in family.common.items()}
    required = [family.tag]
    for operand in entry.get("operands", ()):
        presence = "Required." if operand["required"] else "Default none."
        properties[operand["name"]] = {"description": f"{operand['takes']}: {operand['shape']}. {presence}"}
    for attribute in entry["attrs"]:
        properties[attribute["name"]] = _with_default(_option_schema(attribute), attribute)
        required += [attribute["name"]] * attribute["required"]
    return {
        "title": _schema_name(entry["kind"], family.suffix),
        "description": entry["doc"],
        "type": "object",
        "properties": properties,
        "required": required,
        **({} if family.is_open else {"additionalProperties": False}),
    }


def _with_default(schema: Json, attribute: Mapping[str, Any]) -> Json:
    """State the default in the description: generators of types require a field with the keyword `default`."""
    if "default" in attribute:
        schema["description"] += f" Default {json.dumps(attribute['default'])}."
    return schema


def _option_schema(attribute: Mapping[str, Any]) -> Json:
    schema = option_schema(attribute["type"])
    words = attribute["type"]
    if attribute.get("range"):
        bounds = _bounds(attribute["range"])
        for place in _numbers(schema):
            place.update(bounds)
        words = f"{words}, {attribute['range']}"
    schema["description"] = f"{words[:1].upper()}{words[1:]}."
    return schema


def _numbers(schema: Json) -> Iterator[Json]:
    """Yield the parts of a schema that stand for numbers."""
    if schema.get("type") in ("number", "integer"):
        yield schema
    for part in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from _numbers(part)


_BOUND = re.compile(r"(at least|greater than|at most|less than) (\S+)")
_WHOLE_BELOW = 2.0**63
_KEYWORDS = {
    "at least": "minimum",
    "greater than": "exclusiveMinimum",
    "at most": "maximum",
    "less than": "exclusiveMaximum",
}


def _bounds(text: str) -> dict[str, float]:
    """Return the keywords of a range in the words of the catalogue: `at least 0 and less than 1`."""
    values = ((_KEYWORDS[word], float(number)) for word, number in _BOUND.findall(text))
    # Larger whole numbers have more digits than encoders of JSON take.
    return {k: int(value) if value.is_integer() and abs(value) < _WHOLE_BELOW else value for k, value in values}


_WORDS: Mapping[str, Json] = MappingProxyType(
    {
        "a number": {"type": "number"},
        "an integer": {"type": "integer"},
        "true or false": {"type": "boolean"},
        "a string": {"type": "string"},
        "null": {"type": "null"},
        "an object": {"type": "object"},
        "a dtype name": {"type": "string"},
        "objects": {"type": "object"},
        "a schedule": {"$ref": f"{REFERENCE}ScheduleChoice"},
        "schedules": {"$ref": f"{REFERENCE}ScheduleChoice"},
    }
)
_LIST = re.compile(r"a list of (?:(?P<count>\d+) \((?P<counted>.*)\)|(?P<any>.*))")
_LAYERS = "a list of a string or an object"


def option_schema(words: str) -> Json:
    """Return the schema of an option that a catalogue describes in words, such as `a list of 2 (a number)`.

    ValueError if there is no schema for the words.
    """
    if words in _WORDS:
        return dict(_WORDS[words])
    if words == _LAYERS:
        return {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": f"{REFERENCE}LayerChoice"}]}}
    if words.startswith("one of "):
        choices, _, rest = words.removeprefix("one of ").partition(" or ")
        found: Json = {"enum": [choice.strip("'") for choice in choices.split(", ")], "type": "string"}
        return {"anyOf": [found, *_parts(option_schema(rest))]} if rest else found
    first, _, rest = words.partition(" or ")
    listed = _LIST.fullmatch(words) if "(" in first else _LIST.fullmatch(first)
    if listed is None and not rest:
        raise ValueError(f"no schema is known for an option that is {words!r}; add it to {__name__}")
    if listed is None:
        return {"anyOf": [*_parts(option_schema(first)), *_parts(option_schema(rest))]}
    items = option_schema(listed["counted"] or listed["any"])
    count = listed["count"]
    array: Json = {"type": "array", "items": items}
    if count is not None:
        return array | {"minItems": int(count), "maxItems": int(count)}
    return {"anyOf": [array, *_parts(option_schema(rest))]} if rest else array


def _parts(schema: Json) -> list[Json]:
    return schema["anyOf"] if set(schema) == {"anyOf"} else [schema]


def _schema_name(kind: str, suffix: str) -> str:
    return "".join(part.capitalize() for part in kind.split("_")) + suffix
