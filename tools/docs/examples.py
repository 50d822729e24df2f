"""The examples of the OpenAPI document: the request and the recorded answer of each operation's first step."""

from typing import Any

from tools.docs.http_client import answers
from tools.docs.http_steps import STEPS, Step
from tools.docs.inventory import ROOT
from tools.docs.markdown import FILE_WIDTH, compact

FILE = ROOT / "app" / "api" / "operation_examples.json"
JSON = "application/json"


def examples_text() -> str:
    """Return the text of the file that the server reads."""
    recorded = answers()
    ids = {step.saves: _saved(step, recorded) for step in STEPS if step.saves and step.saves != "FILE"}
    first: dict[str, Any] = {}
    for step in STEPS:
        first.setdefault(step.operation, _example(step, recorded[step.operation], ids))
    return compact(dict(sorted(first.items())), FILE_WIDTH) + "\n"


def _saved(step: Step, recorded: Any) -> str:
    body = recorded[step.operation].get("body", {})
    return str(body.get(step.field, "...")) if isinstance(body, dict) else "..."


def _example(step: Step, answer: Any, ids: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"status": str(answer["status"])}
    if step.body is not None and step.body != "{FILE}":
        kind = JSON if not isinstance(step.body, str) else step.headers.get("Content-Type", JSON)
        found["request"] = {"type": kind, "example": _filled(step.body, ids)}
    if "body" in answer:
        found["response"] = {"type": answer["type"], "example": answer["body"]}
    return found


def _filled(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each, ids) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, ids) for each in value]
    if isinstance(value, str) and value.startswith("{") and value.endswith("}") and value[1:-1] in ids:
        return ids[value[1:-1]]
    return value
