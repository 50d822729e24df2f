"""The module `schemas`: a typed dictionary for each schema of the contract, and the options of a fit and a session."""

from collections.abc import Iterable
from typing import Any

from generator import kinds
from generator.contract import Contract, Json, summary
from generator.python_types import python_type, quoted

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
        parts += [*_definition(name, schema, sent=name in contract.sent), "", ""]
    for name, (request, taken, text) in _OPTIONS.items():
        schema = contract.schemas[request]
        properties = {field: found for field, found in schema["properties"].items() if field not in taken}
        parts += [*_typed_dictionary(name, text, _fields(properties, (), sent=True), properties), "", ""]
    return "\n".join(parts)


def _definition(name: str, schema: Json, *, sent: bool) -> list[str]:
    if name in kinds.CATALOGUES:
        common = {field: found for field, found in schema["properties"].items() if field != "kind"}
        return kinds.kind_types(name, {field: python_type(found, sent=True) for field, found in common.items()})
    if "properties" not in schema:
        return [f"{name} = {python_type(schema, sent=sent)}"]
    fields = _fields(schema["properties"], schema.get("required", ()), sent=sent)
    if name == _GROUP:
        options = {"kind": kinds.kind_names("OptimizerChoice"), **kinds.all_options("OptimizerChoice")}
        fields |= {option: f"NotRequired[{quoted(found)}]" for option, found in options.items()}
    return _typed_dictionary(name, summary(schema, name), fields, {})


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
