"""The module `schemas`: a typed dictionary for each schema of the contract, and the options of a fit and a session."""

from collections.abc import Iterable
from typing import Any

from generator.contract import Contract, Json, summary
from generator.python_types import literal, python_type, quoted, union

HEADER = '''"""The JSON objects of the contract as typed dictionaries."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, Union

'''
# What the functions `fit` and `session` take as arguments of their own.
_OPTIONS = {
    "FitOptions": ("FitRequest", frozenset({"graph", "dataset", "validation"}), "The options of a fit."),
    "SessionOptions": (
        "SessionRequest",
        frozenset({"graph", "checkpoint", "optimizer", "dataset", "dims"}),
        "The options of a session.",
    ),
}
_GROUP = "GroupChoice"


def schemas_module(contract: Contract) -> str:
    """Return the source of the module."""
    parts = [HEADER]
    for name, schema in contract.schemas.items():
        parts += [*_definition(contract, name, schema), "", ""]
    for name, (request, taken, text) in _OPTIONS.items():
        schema = contract.schemas[request]
        properties = {field: found for field, found in schema["properties"].items() if field not in taken}
        parts += [*_typed_dictionary(name, text, _fields(properties, (), sent=True), properties), "", ""]
    return "\n".join(parts)


def _definition(contract: Contract, name: str, schema: Json) -> list[str]:
    sent = name in contract.sent
    if "discriminator" in schema:
        names = (str(option["$ref"]).rpartition("/")[2] for option in schema["oneOf"])
        return [f"{name} = Union[{', '.join(f'{chr(34)}{each}{chr(34)}' for each in names)}]"]
    if "properties" not in schema:
        return [f"{name} = {python_type(schema, sent=sent)}"]
    fields = _fields(schema["properties"], schema.get("required", ()), sent=sent)
    if name == _GROUP:
        fields |= _options_of_all(contract, "OptimizerChoice")
    return _typed_dictionary(name, summary(schema, name), fields, {})


def _options_of_all(contract: Contract, family: str) -> dict[str, str]:
    """Return the fields of all kinds of a family but groups, each with every type that it has in one of them."""
    found: dict[str, list[Any]] = {}
    for option in contract.schemas[family]["oneOf"]:
        kind = contract.schemas[str(option["$ref"]).rpartition("/")[2]]
        for field, schema in kind["properties"].items():
            found.setdefault(field, []).extend([schema["const"]] if field == "kind" else [schema])
    kinds = found.pop("kind")
    found.pop("groups")
    types = {"kind": literal(kinds)}
    types |= {field: union(python_type(each, sent=True) for each in schemas) for field, schemas in found.items()}
    return {field: f"NotRequired[{quoted(each)}]" for field, each in types.items()}


def _fields(properties: Json, required: Iterable[str], *, sent: bool) -> dict[str, str]:
    needed = frozenset(required)
    found = {}
    for name, schema in properties.items():
        annotation = quoted(python_type(schema, sent=sent))
        found[name] = annotation if name in needed else f"NotRequired[{annotation}]"
    return found


def _typed_dictionary(name: str, text: str, fields: dict[str, str], described: dict[str, Any]) -> list[str]:
    lines = [f"class {name}(TypedDict):", f'    """{text}"""', ""]
    for field, annotation in fields.items():
        lines.append(f"    {field}: {annotation}")
        if described.get(field, {}).get("description"):
            lines.append(f'    """{summary(described[field], field)}"""')
    return lines
