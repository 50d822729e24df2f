"""Findings of pydantic as findings with JSON pointers, and the removal of submitted values from errors."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from app.domain.column_labels import LONGEST_LABEL, column_identifier
from app.domain.documents import escape, nearest
from app.domain.errors import ApiError, Finding, Invalid

CODES: Mapping[str, str] = MappingProxyType(
    {
        "missing": "missing_field",
        "extra_forbidden": "unknown_field",
        "type_mismatch": "type_mismatch",
        "literal_error": "unknown_name",
        "enum": "unknown_name",
        "string_pattern_mismatch": "malformed",
        "too_long": "too_many",
        "conflict": "conflict",
        "missing_field": "missing_field",
        "malformed": "malformed",
    }
)
"""Codes of ours for pydantic's; an error of a `*_type` is a mismatch of types, any other is out of range."""

FINDINGS_MAX = 100

OUTSIDE_BODY = frozenset({"query", "path", "header", "cookie"})


Shape = TypeVar("Shape", bound=BaseModel)


def validated(shape: type[Shape], document: Any, pointer: str = "") -> Shape:
    """Return `document`, which stands at `pointer` in a request, as a `shape`; Invalid, with every fault found, if it
    is none.
    """
    try:
        return shape.model_validate(document)
    except ValidationError as error:
        raise _refused(error, document, shape, pointer) from error


def validated_text(shape: type[Shape], document: Mapping[str, Any]) -> Shape:
    """Return a document whose numbers and truth values are given as text, as in a query, as a `shape`; likewise."""
    try:
        return shape.model_validate_strings(document)
    except ValidationError as error:
        raise _refused(error, document, shape, "") from error


def _refused(error: ValidationError, document: Any, shape: Any, pointer: str) -> Invalid:
    faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors(include_url=False)]
    found = findings_of(faults, document, shape)
    return combine_findings(tuple(replace(each, pointer=pointer + each.pointer) for each in found))


def combine_findings(findings: tuple[Finding, ...]) -> Invalid:
    """Return one error for all the faults: a single one in its own words, several by their number."""
    if len(findings) == 1:
        return Invalid(findings[0].detail, code=findings[0].code, findings=findings)
    return Invalid(f"the request has {len(findings)} faults; see errors", findings=findings)


def findings_of(errors: Iterable[Mapping[str, Any]], body: Any, shape: Any) -> tuple[Finding, ...]:
    """Translate pydantic's `errors` about a `body` of `shape` (or about parameters); never repeats the input.

    Only the first `FINDINGS_MAX` are listed.
    """
    return tuple(_finding(error, body, shape) for error in islice(errors, FINDINGS_MAX))


def _finding(error: Mapping[str, Any], body: Any, shape: Any) -> Finding:
    source, *path = error["loc"] or ("body",)
    if source in OUTSIDE_BODY:
        pointer = "".join(f"/{escape(part)}" for part in path)
        return Finding(pointer, _code(error["type"]), f"{source} parameter: {_advice(error)}")
    steps = tuple(_steps(path, body, error["type"] == "missing"))
    if error["type"] == "missing":
        pointer, name = _pointer(steps[:-1]), str(steps[-1]) if steps else ""
        return Finding(pointer, "missing_field", f"the field {name!r} is required")
    if error["type"] == "extra_forbidden":
        return Finding(_pointer(steps), "unknown_field", f"unknown field{_hint(steps, shape)}")
    return Finding(_pointer(steps), _code(error["type"]), _advice(error))


def _steps(path: Sequence[Any], body: Any, missing: bool) -> Iterator[Any]:
    """Yield the parts of pydantic's location that lead into the body, not those that name branches of a union."""
    here = body
    for position, part in enumerate(path):
        last = position == len(path) - 1
        if (isinstance(here, Mapping) and part in here) or (
            isinstance(here, list) and isinstance(part, int) and part < len(here)
        ):
            here = here[part]
        elif not (last and missing):
            continue
        yield part


def _pointer(steps: Iterable[Any]) -> str:
    return "".join(f"/{escape(step)}" for step in steps)


def _code(kind: str) -> str:
    return CODES.get(kind, "type_mismatch" if kind.endswith(("_type", "_parsing", "_from_float")) else "out_of_range")


def _advice(error: Mapping[str, Any]) -> str:
    message = str(error["msg"])
    advice = message[:1].lower() + message[1:]
    given, accepted = error.get("input"), re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected", "")))
    if _code(error["type"]) == "unknown_name" and isinstance(given, str) and get_close_matches(given[:64], accepted):
        return advice + nearest(given, accepted)
    return advice


def _hint(steps: Sequence[Any], shape: Any) -> str:
    return nearest(steps[-1], _fields(steps[:-1], shape)) if steps else ""


def _fields(steps: Sequence[Any], shape: Any) -> list[str]:
    """Return the names of the fields of the shape that `steps` lead to."""
    for step in steps:
        model = _model(shape)
        if model is None or step not in model.model_fields:
            return []
        shape = model.model_fields[step].annotation
    model = _model(shape)
    return [] if model is None else list(model.model_fields)


def _model(shape: Any) -> type[BaseModel] | None:
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return shape
    return next((model for part in get_args(shape) if (model := _model(part)) is not None), None)


PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_. ]*(?:[0-9]{1,3}[A-Za-z_. ]*)?|[+-]?[0-9]{1,3}(?:\.[0-9]{1,3})?", re.ASCII)
NAME_MAX = 32
PLACEHOLDER = "'…'"
SHOWN_MAX = 64
"""Characters of a value that an error shows at most."""

FIELDS_MAX = 64
"""Fields of an object that are looked at: options are fewer, and one error must not cost what 100,000 fields do."""


def redact(error: ApiError, document: Any) -> ApiError:
    """Return `error` without texts of `document` that must not be repeated to the client.

    Names and numbers are shown, so that a mistake can be seen. Any other text, which may be long or secret, is not.
    """
    before = error.findings
    error.findings = tuple(
        replace(finding, detail=_without(finding.detail, _sent(document, finding.pointer))) for finding in before
    )
    if len(before) == 1 and error.detail == before[0].detail:
        error.detail = error.findings[0].detail
    return error


def is_plain_name(text: str) -> bool:
    """Return whether a text can only be a name or a number: short, of letters with a few digits at most."""
    return len(text) <= NAME_MAX and PLAIN_NAME.fullmatch(text) is not None


def _sent(document: Any, pointer: str) -> Any:
    """Return what a JSON pointer leads to; None if that is nothing."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, Mapping):
            document = document.get(name)
        elif isinstance(document, Sequence) and not isinstance(document, str):
            document = document[int(name)] if name.isdecimal() and int(name) < len(document) else None
        else:
            return document  # a short form of the value that the pointer names
    return document


def _without(detail: str, sent: Any) -> str:
    """Remove a text, or those of the fields of an object, from the detail of an error.

    The label of a column stays where its identifier stands behind it: it is known to be one.
    """
    for value in islice(sent.values(), FIELDS_MAX) if isinstance(sent, Mapping) else (sent,):
        if isinstance(value, str) and not is_plain_name(value):
            for quoted in (repr(value), repr(value[:SHOWN_MAX]), repr(value)[:SHOWN_MAX]):
                known = rf"(?! \({re.escape(column_identifier(value))}\))" if len(value) <= LONGEST_LABEL else ""
                detail = re.sub(re.escape(quoted) + known, lambda _: PLACEHOLDER, detail)
    return detail
