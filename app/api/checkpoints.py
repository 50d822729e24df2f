"""Routes of checkpoints."""

import asyncio
from functools import partial
from typing import Annotated, Literal

from anyio import to_thread
from fastapi import Depends, Header, Query, Request, Response

from app.api.bodies import content_type, read_body, receive
from app.api.deps import CheckpointId, CheckpointsDep, FitId, PageDep, SettingsDep, SlowDep
from app.api.diagnostics import REFUSALS, ThreadsDep, answer_of
from app.api.downloads import TensorFormat, TensorFormatDep, open_file, send_file, tensor_answer
from app.api.idempotency import IdempotentDep
from app.api.openapi_parts import binary_answer, upload_body
from app.api.routing import router
from app.api.schemas.checkpoints import (
    Checkpoint,
    CheckpointChanges,
    CheckpointList,
    ParameterList,
    Prediction,
    PredictRequest,
    parameter_list,
)
from app.api.schemas.values import Tensor
from app.domain.documents import JSON, NPY, SAFETENSORS
from app.domain.errors import Finding, Invalid, UnsupportedMedia
from app.domain.frames import to_json
from app.http.responses import JsonResponse, check_digest, read_digest
from app.http.strict_json import read_json
from app.http.validation import validated
from app.service.resources.checkpoints import Alias

routes = router("checkpoints")

OCTETS = "application/octet-stream"
NPY_BYTES_MAX = 64 * 1024**2


async def _prediction_format(
    request: Request,
    format: Annotated[
        TensorFormat | None,
        Query(description="Format of the response; by default that of the Accept header, else that of the body."),
    ] = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "*/*",
) -> TensorFormat:
    if format is not None:
        return format
    asked = accept if NPY in accept or JSON in accept else content_type(request)
    return "npy" if NPY in asked else "json"


PredictionFormatDep = Annotated[TensorFormat, Depends(_prediction_format)]


@routes.get("/v1/fits/{fit_id}/checkpoints", response_model=CheckpointList)
def list_checkpoints(fit_id: FitId, page: PageDep, checkpoints: CheckpointsDep) -> Response:
    """List the checkpoints of a fit.

    Lists the checkpoints that are kept for a fit, in pages.
    """
    return JsonResponse(CheckpointList.show(checkpoints.of_fit(fit_id, page)))


@routes.get("/v1/fits/{fit_id}/checkpoints/{alias}", response_model=Checkpoint)
def find_checkpoint(fit_id: FitId, alias: Alias, checkpoints: CheckpointsDep) -> Response:
    """Get the latest or best checkpoint of a fit.

    Resolves the alias `latest` or `best` to a checkpoint of the fit.
    """
    return JsonResponse(Checkpoint.show(checkpoints.alias(fit_id, alias)))


@routes.post(
    "/v1/checkpoints", status_code=201, response_model=Checkpoint, openapi_extra=upload_body({SAFETENSORS: None})
)
async def create_checkpoint(
    request: Request,
    graph: Annotated[str, Query(max_length=64, description="Id of the graph that the parameters belong to.")],
    checkpoints: CheckpointsDep,
    settings: SettingsDep,
    idempotent: IdempotentDep,
    slow: SlowDep,
    content_digest: Annotated[str | None, Header(description="SHA-256 of the body, checked (RFC 9530).")] = None,
) -> Response:
    """Upload a checkpoint.

    Stores a file of parameters in the safetensors format as a checkpoint of a graph. The names, shapes and dtypes
    must be those of the graph's parameters.
    """
    if content_type(request) not in (SAFETENSORS, OCTETS):
        raise UnsupportedMedia(f"this route reads {SAFETENSORS}; set Content-Type to that")
    with await asyncio.to_thread(checkpoints.open_upload) as upload:
        await receive(request, upload, settings.max_upload_bytes)
        check_digest(read_digest(content_digest), upload.digest)
        payload = upload.digest.encode()
        create = partial(
            idempotent.answer,
            lambda save_response: checkpoints.create(upload, graph, save_response),
            Checkpoint.show,
            payload=payload,
        )
        return await to_thread.run_sync(create, limiter=slow)


@routes.get("/v1/checkpoints/{checkpoint_id}", response_model=Checkpoint)
def get_checkpoint(checkpoint_id: CheckpointId, checkpoints: CheckpointsDep) -> Response:
    """Get a checkpoint.

    Returns the metadata of a checkpoint: step, epoch, metrics, digest and links; not its content.
    """
    return JsonResponse(Checkpoint.show(checkpoints.get(checkpoint_id)))


@routes.get("/v1/checkpoints/{checkpoint_id}/content", response_class=Response, responses=binary_answer(SAFETENSORS))
def download_checkpoint(
    checkpoint_id: CheckpointId,
    request: Request,
    checkpoints: CheckpointsDep,
    only: Annotated[Literal["parameters"] | None, Query(description="Leave out buffers and optimizer state.")] = None,
) -> Response:
    """Download the content of a checkpoint.

    Returns the file in the safetensors format. Range requests and `If-None-Match` are supported.
    """
    name = f"{checkpoint_id}.safetensors"
    if only is None:
        checkpoint, path = checkpoints.file(checkpoint_id)
        return send_file(request, open_file(path, SAFETENSORS, name, checkpoint.digest, checkpoint.digest))
    with checkpoints.parameters_file(checkpoint_id) as (path, digest):
        return send_file(request, open_file(path, SAFETENSORS, name, digest, digest))


@routes.get("/v1/checkpoints/{checkpoint_id}/parameters", response_model=ParameterList)
def list_parameters(checkpoint_id: CheckpointId, checkpoints: CheckpointsDep) -> Response:
    """List the parameters of a checkpoint.

    Lists the name, dtype and shape of each parameter; the values are in the content.
    """
    return JsonResponse(parameter_list(checkpoints.parameters(checkpoint_id)))


@routes.get("/v1/checkpoints/{checkpoint_id}/parameters/{name}", response_model=Tensor, responses=binary_answer(NPY))
def get_parameter(
    checkpoint_id: CheckpointId, name: str, checkpoints: CheckpointsDep, format: TensorFormatDep
) -> Response:
    """Get a parameter of a checkpoint.

    Returns one parameter as JSON, or as `.npy` with `Accept: application/x-npy` or `format=npy`.
    """
    return tensor_answer(checkpoints.parameter(checkpoint_id, name), format)


@routes.patch("/v1/checkpoints/{checkpoint_id}", response_model=Checkpoint)
def update_checkpoint(checkpoint_id: CheckpointId, changes: CheckpointChanges, checkpoints: CheckpointsDep) -> Response:
    """Pin or unpin a checkpoint.

    A pinned checkpoint is kept regardless of the retention settings of its fit.
    """
    return JsonResponse(Checkpoint.show(checkpoints.pin(checkpoint_id, pinned=changes.pinned)))


@routes.delete("/v1/checkpoints/{checkpoint_id}", status_code=204)
def delete_checkpoint(checkpoint_id: CheckpointId, checkpoints: CheckpointsDep) -> None:
    """Delete a checkpoint.

    Deletes the content of a checkpoint that is not pinned. Later requests for the content return 410.
    """
    checkpoints.delete(checkpoint_id)


@routes.post(
    "/v1/checkpoints/{checkpoint_id}:predict",
    response_model=Prediction,
    responses={**binary_answer(NPY), **REFUSALS},
    openapi_extra=upload_body({JSON: "PredictRequest", NPY: None}),
)
async def predict_with_checkpoint(
    checkpoint_id: CheckpointId,
    request: Request,
    checkpoints: CheckpointsDep,
    settings: SettingsDep,
    format: PredictionFormatDep,
    threads: ThreadsDep,
    input: Annotated[
        str | None, Query(description="Name of the input that a .npy body holds; required if the graph has several.")
    ] = None,
    output: Annotated[
        str | None,
        Query(description="Name of the output that a .npy response holds; required if the graph has several."),
    ] = None,
) -> Response:
    """Predict with a checkpoint.

    Computes the outputs for the given inputs in evaluation mode. Inputs and outputs are JSON, or `.npy` where there
    is one of them.
    """
    if output is not None and format != "npy":
        raise _misplaced("output", "an answer in JSON holds every output; leave this out, or ask for format=npy")
    kind = content_type(request)
    body = await _body(request, kind, settings.max_json_bytes, input)
    options = {"input": input, "output": output}
    accept = NPY if format == "npy" else JSON
    return await answer_of(request, threads, lambda: checkpoints.prediction(checkpoint_id, body, kind, options, accept))


async def _body(request: Request, kind: str, json_bytes_max: int, input: str | None) -> bytes:
    """Return the body; a JSON body is validated and encoded again for the worker process."""
    if kind == NPY:
        return await read_body(request, NPY_BYTES_MAX)
    if kind != JSON:
        raise UnsupportedMedia(f"this route reads {JSON} and {NPY}; set Content-Type to one of them")
    if input is not None:
        raise _misplaced("input", "a JSON body names its inputs; leave this out, or send .npy")
    document = await asyncio.to_thread(read_json, await read_body(request, json_bytes_max))
    return to_json({"inputs": validated(PredictRequest, document).inputs})


def _misplaced(name: str, detail: str) -> Invalid:
    finding = Finding(f"/{name}", "conflict", f"query parameter: {detail}")
    return Invalid(finding.detail, code=finding.code, findings=[finding])
