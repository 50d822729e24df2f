"""The module `records`: what the client returns, as classes with attributes."""

from generator.contract import Contract, Json, references, summary
from generator.python_types import python_type, quoted

ROOTS = (
    "Checkpoint",
    "Dataset",
    "DatasetProfile",
    "Evaluation",
    "Fit",
    "Graph",
    "GraphSummary",
    "RankedVariant",
    "Session",
)
HEADER = '''"""What the server answers about its resources, with the fields as attributes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Literal

from adjoint_client.record import Record

'''


def records_module(contract: Contract) -> str:
    """Return the source of the module."""
    names = sorted(contract.reachable(ROOTS))
    classes = {name for name in names if "properties" in contract.schemas[name]} - contract.sent
    parts = [HEADER]
    for name in names:
        schema = contract.schemas[name]
        if name in classes:
            parts += [*_record(name, schema, classes), "", ""]
        elif name in contract.sent:
            parts += [f"{name} = Mapping[str, Any]", ""]
        else:
            parts += [f"{name} = {python_type(schema, sent=False)}", ""]
    return "\n".join(parts)


def _record(name: str, schema: Json, classes: set[str]) -> list[str]:
    fields = schema["properties"]
    nested = {field: found[0] for field, each in fields.items() if (found := references(each)) and found[0] in classes}
    moments = [field for field, each in fields.items() if _is_moment(each)]
    lines = [f"class {name}(Record):", f'    """{summary(schema, name)}"""', ""]
    if nested:
        lines.append(f"    _records: ClassVar[Mapping[str, str]] = {nested!r}")
    if moments:
        lines.append(f"    _moments: ClassVar[frozenset[str]] = frozenset({moments!r})")
    for field, each in fields.items():
        annotation = python_type(each, sent=False)
        if field in moments:
            annotation = annotation.replace("str", "datetime")
        lines.append(f"    {field}: {quoted(annotation)}")
    return lines


def _is_moment(schema: Json) -> bool:
    return any(option.get("format") == "date-time" for option in schema.get("anyOf", [schema]))
