"""The module `operations`: one table with all operations of the contract."""

from generator.contract import Contract, Json, Route, references

HEADER = '''"""The operations of the contract by name."""

from collections.abc import Mapping

from adjoint_client.operation import Operation

OPERATIONS: Mapping[str, Operation] = {
'''


def operations_module(contract: Contract) -> str:
    """Return the source of the module."""
    return HEADER + "".join(f"    {line}\n" for line in map(_entry, contract.routes)) + "}\n"


def _entry(route: Route) -> str:
    operation = route.operation
    query = tuple(item["name"] for item in operation.get("parameters", ()) if item["in"] == "query")
    bodies = tuple(sorted(operation.get("requestBody", {}).get("content", {})))
    values = (route.method, route.path, query, bodies, _answers(operation))
    return f'"{operation["operationId"]}": Operation({", ".join(map(repr, values))}),'


def _answers(operation: Json) -> tuple[str, ...]:
    """The media types of the answer, in place of JSON the schema."""
    found: set[str] = set()
    for status, response in operation["responses"].items():
        if not status.startswith("2"):
            continue
        for media, content in response.get("content", {}).items():
            named = references(content)
            found.add(named[0] if media == "application/json" and named else media)
    return tuple(sorted(found))
