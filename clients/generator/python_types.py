"""Python's types of JSON schemas."""

from typing import Any

_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def python_type(schema: dict[str, Any], *, sent: bool) -> str:
    """Return the type of a value: what is sent may be any sequence or mapping, what is received is a list or dict."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return union(python_type(option, sent=sent) for option in options)
    if "enum" in schema or "const" in schema:
        return literal(schema.get("enum", [schema.get("const")]))
    match schema.get("type"):
        case "array":
            inner = python_type(schema.get("items", {}), sent=sent)
            return f"Sequence[{inner}]" if sent else f"list[{inner}]"
        case "object":
            named: list[Any] = [schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()]
            inner = union(python_type(each, sent=sent) for each in named if isinstance(each, dict)) or "Any"
            return f"Mapping[str, {inner}]" if sent else f"dict[str, {inner}]"
        case str(kind):
            return _PLAIN[kind]
        case _:
            return "Any"


def union(types: Any) -> str:
    """Return the union of types, None last; a union with Any is Any."""
    found = list(dict.fromkeys(part for each in types for part in _parts(each)))
    if "Any" in found:
        return "Any"
    return " | ".join(sorted(found, key="None".__eq__))


def literal(values: list[Any]) -> str:
    """Return the type of a value that is one of these."""
    return f"Literal[{', '.join(map(_value, values))}]"


def quoted(annotation: str) -> str:
    """Return an annotation as a string, so that it may name what comes later."""
    return f"'{annotation}'" if '"' in annotation else f'"{annotation}"'


def _value(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _parts(each: str) -> list[str]:
    """Split a union that is not inside brackets."""
    parts, depth, begin = [], 0, 0
    for place, character in enumerate(each):
        depth += (character == "[") - (character == "]")
        if character == "|" and not depth:
            parts.append(each[begin:place].strip())
            begin = place + 1
    return [*parts, each[begin:].strip()]
