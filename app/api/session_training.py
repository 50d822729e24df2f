"""The verbs of a session of kind "training": those of a training loop, and batches of them."""

from collections.abc import Mapping
from typing import Any

from fastapi import Request

from app.api import session_static
from app.api.bodies import content_type, read_body
from app.api.deps import services_of
from app.api.openapi_parts import JSON
from app.api.routing import router
from app.api.schemas.checkpoints import Checkpoint
from app.api.schemas.session_steps import (
    BackwardRequest,
    BatchAnswer,
    BatchQuery,
    BatchRequest,
    ForwardAnswer,
    ForwardBackwardAnswer,
    ForwardBackwardRequest,
    ForwardRequest,
    GradientNorms,
    LoadAnswer,
    LoadRequest,
    OptimStepAnswer,
    OptimStepRequest,
    ResetRequest,
    SaveRequest,
    SessionNonfiniteTrace,
    SessionPrediction,
    SessionPredictRequest,
    SessionProfile,
    SessionProfileRequest,
    SessionRowLosses,
    SessionRowLossesRequest,
    SessionTraceRequest,
    SetRequest,
    StepAnswer,
    ZeroGradRequest,
)
from app.api.session_steps import TENSORS, StepPayload, Verb, add_verbs, read_document, validate_options
from app.domain.documents import NPY, SAFETENSORS, nearest
from app.domain.errors import Finding, Invalid
from app.http.strict_json import read_json
from app.http.validation import validated, validated_text
from app.ingest.arrays import read_arrays
from app.ingest.limits import IngestLimits

METADATA = "__metadata__"
STEPS_FIELD = "steps"


async def read_batch(request: Request, verb: Verb, verbs: Mapping[str, Verb]) -> StepPayload:
    """Read a request for a batch of steps of `verbs`; as `read_step` otherwise.

    In safetensors, the steps stand as JSON under `__metadata__["steps"]`, and the tensors of the third of them are
    named "2/<name>".
    """
    kind = content_type(request)
    if kind != SAFETENSORS:
        document = await read_document(request, kind, verb.bodies)
        batch = validated(BatchRequest, document)
        return StepPayload(_options(batch, _validate_steps(batch.steps, verbs, frozenset())))
    body = await read_body(request, services_of(request).settings.max_step_bytes)
    steps, holders = _read_steps(body)
    payload = validated_text(BatchQuery, dict(request.query_params))
    batch = validated(BatchRequest, {STEPS_FIELD: steps, "stop_on_error": payload.stop_on_error})
    return StepPayload(_options(batch, _validate_steps(batch.steps, verbs, holders)), None, kind, body)


def _options(batch: BatchRequest, steps: list[dict[str, Any]]) -> dict[str, Any]:
    return {STEPS_FIELD: steps, "stop_on_error": batch.stop_on_error}


def _validate_steps(
    documents: list[dict[str, Any]], verbs: Mapping[str, Verb], holders: frozenset[str]
) -> list[dict[str, Any]]:
    """Check each step by the shape of its verb; those in `holders`, positions as text, have tensors in the body."""
    return [
        _validate_step(document, verbs, f"/{STEPS_FIELD}/{place}", arrays=str(place) in holders)
        for place, document in enumerate(documents)
    ]


def _validate_step(
    document: dict[str, Any], verbs: Mapping[str, Verb], pointer: str, *, arrays: bool
) -> dict[str, Any]:
    name = document.get("verb")
    verb = verbs.get(name) if isinstance(name, str) else None
    if verb is None:
        raise _unknown_verb(name, verbs, pointer)
    options = {key: value for key, value in document.items() if key != "verb"}
    field = verb.shape.carried
    if not arrays or field is None:
        validate_options(verb.shape, options, pointer)
        return document
    if field in options:
        detail = f"the body holds tensors for the {field} of this step; leave this out, or them"
        raise Invalid(detail, code="conflict", findings=[Finding(f"{pointer}/{field}", "conflict", detail)])
    validate_options(verb.shape, {**options, field: {}}, pointer)
    return document


def _unknown_verb(name: Any, verbs: Mapping[str, Verb], pointer: str) -> Invalid:
    detail = f"each step has a verb{nearest(name, verbs)}"
    return Invalid(detail, code="unknown_name", findings=[Finding(f"{pointer}/verb", "unknown_name", detail)])


def _read_steps(body: bytes) -> tuple[Any, frozenset[str]]:
    """Return what the metadata says of the steps, and the positions of those that have tensors in the body."""
    read = read_arrays(body, SAFETENSORS, IngestLimits())
    if STEPS_FIELD not in read.metadata:
        detail = f"the metadata hold no {STEPS_FIELD}; put the list of steps there as JSON"
        finding = Finding(f"/{METADATA}/{STEPS_FIELD}", "missing_field", detail)
        raise Invalid(detail, code=finding.code, findings=[finding])
    return read_json(read.metadata[STEPS_FIELD].encode()), frozenset(name.partition("/")[0] for name in read.arrays)


routes = router("sessions")

OUTPUTS = (JSON, SAFETENSORS, NPY)

# Routes are tried in this order: first those that a loop takes.
STEPS = (
    Verb(
        "forward_backward",
        "run_forward_backward",
        "Run a forward and backward pass",
        ForwardBackwardRequest,
        ForwardBackwardAnswer,
        TENSORS,
        OUTPUTS,
    ),
    Verb("optim_step", "run_optim_step", "Run an optimizer step", OptimStepRequest, OptimStepAnswer),
    Verb("forward", "run_forward", "Run a forward pass", ForwardRequest, ForwardAnswer, TENSORS, OUTPUTS),
    Verb("backward", "run_backward", "Run a backward pass", BackwardRequest, GradientNorms, TENSORS),
    Verb("zero_grad", "zero_gradients", "Zero the gradients", ZeroGradRequest, StepAnswer),
    Verb(
        "predict",
        "predict_with_session",
        "Predict with a session",
        SessionPredictRequest,
        SessionPrediction,
        TENSORS,
        OUTPUTS,
    ),
    Verb("set", "set_parameters", "Set parameters", SetRequest, StepAnswer, TENSORS),
    Verb("reset", "reset_session", "Reset gradients or optimizer state", ResetRequest, StepAnswer),
    Verb(
        "row_losses",
        "compute_session_row_losses",
        "Compute the loss of each row in a session",
        SessionRowLossesRequest,
        SessionRowLosses,
        TENSORS,
    ),
    Verb(
        "trace_nonfinite",
        "trace_session_nonfinite",
        "Find the first non-finite value in a session",
        SessionTraceRequest,
        SessionNonfiniteTrace,
        TENSORS,
    ),
    Verb(
        "profile",
        "profile_session",
        "Profile a training step of a session",
        SessionProfileRequest,
        SessionProfile,
        TENSORS,
    ),
)

CHECKPOINTS = (
    Verb("save", "save_session", "Save a session as a checkpoint", SaveRequest, Checkpoint, status=201),
    Verb("load", "load_session", "Load a checkpoint into a session", LoadRequest, LoadAnswer),
)

BATCH = Verb("batch", "run_batch", "Run several steps", BatchRequest, BatchAnswer, (SAFETENSORS,))

VERBS = (*STEPS, *CHECKPOINTS, BATCH)

# What needs a checkpoint of the server's goes by itself.
_BATCHED = {verb.name: verb for verb in (*STEPS, *session_static.STEPS)}


async def _read_batch(request: Request, verb: Verb) -> StepPayload:
    return await read_batch(request, verb, _BATCHED)


add_verbs(routes, (*STEPS, *CHECKPOINTS))
add_verbs(routes, (BATCH,), _read_batch)
