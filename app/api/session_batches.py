"""Several steps in one request: in JSON, or in safetensors whose tensors are named after their step."""

from collections.abc import Mapping
from typing import Any

from fastapi import Request

from app.api.bodies import content_type, whole
from app.api.deps import services_of
from app.api.schemas.session_steps import BatchQuery, BatchRequest
from app.api.session_bodies import Said, checked, read_document
from app.api.session_verbs import Verb
from app.domain.documents import SAFETENSORS, nearest
from app.domain.errors import Finding, Invalid
from app.http.strict_json import read_json
from app.http.validation import validated, validated_text
from app.ingest.arrays import read_arrays
from app.ingest.limits import IngestLimits

METADATA = "__metadata__"
STEPS = "steps"


async def read_batch(request: Request, verb: Verb, verbs: Mapping[str, Verb]) -> Said:
    """Read a request for a batch of steps of `verbs`; as `read_step` otherwise.

    In safetensors, the steps stand as JSON under `__metadata__["steps"]`, and the tensors of the third of them are
    named "2/<name>".
    """
    kind = content_type(request)
    if kind != SAFETENSORS:
        document = await read_document(request, kind, verb.bodies)
        batch = validated(BatchRequest, document)
        return Said(_options(batch, _steps(batch.steps, verbs, frozenset())))
    body = await whole(request, services_of(request).settings.max_step_bytes)
    steps, holders = _held(body)
    said = validated_text(BatchQuery, dict(request.query_params))
    batch = validated(BatchRequest, {STEPS: steps, "stop_on_error": said.stop_on_error})
    return Said(_options(batch, _steps(batch.steps, verbs, holders)), None, kind, body)


def _options(batch: BatchRequest, steps: list[dict[str, Any]]) -> dict[str, Any]:
    return {STEPS: steps, "stop_on_error": batch.stop_on_error}


def _steps(documents: list[dict[str, Any]], verbs: Mapping[str, Verb], holders: frozenset[str]) -> list[dict[str, Any]]:
    """Check each step by the shape of its verb; those in `holders`, positions as text, have tensors in the body."""
    return [
        _step(document, verbs, f"/{STEPS}/{place}", arrays=str(place) in holders)
        for place, document in enumerate(documents)
    ]


def _step(document: dict[str, Any], verbs: Mapping[str, Verb], pointer: str, *, arrays: bool) -> dict[str, Any]:
    name = document.get("verb")
    verb = verbs.get(name) if isinstance(name, str) else None
    if verb is None:
        raise _unknown_verb(name, verbs, pointer)
    options = {key: value for key, value in document.items() if key != "verb"}
    field = verb.shape.carried
    if not arrays or field is None:
        checked(verb.shape, options, pointer)
        return document
    if field in options:
        detail = f"the body holds tensors for the {field} of this step; leave this out, or them"
        raise Invalid(detail, code="conflict", findings=[Finding(f"{pointer}/{field}", "conflict", detail)])
    checked(verb.shape, {**options, field: {}}, pointer)
    return document


def _unknown_verb(name: Any, verbs: Mapping[str, Verb], pointer: str) -> Invalid:
    detail = f"each step has a verb{nearest(name, verbs)}"
    return Invalid(detail, code="unknown_name", findings=[Finding(f"{pointer}/verb", "unknown_name", detail)])


def _held(body: bytes) -> tuple[Any, frozenset[str]]:
    """Return what the metadata says of the steps, and the positions of those that have tensors in the body."""
    read = read_arrays(body, SAFETENSORS, IngestLimits())
    if STEPS not in read.metadata:
        detail = f"the metadata hold no {STEPS}; put the list of steps there as JSON"
        finding = Finding(f"/{METADATA}/{STEPS}", "missing_field", detail)
        raise Invalid(detail, code=finding.code, findings=[finding])
    return read_json(read.metadata[STEPS].encode()), frozenset(name.partition("/")[0] for name in read.arrays)
