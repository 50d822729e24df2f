"""Routes of checkpoints."""

from typing import Annotated, Literal

from fastapi import Query, Request, Response

from app.api.bodies import content_type
from app.api.deps import CheckpointId, CheckpointsDep, FitId, SlowDep
from app.api.downloads import REDIRECT, TensorFormatDep, open_file, opened, redirect, send_file, tensor_answer
from app.api.idempotency import IdempotentDep
from app.api.list_queries import CheckpointQuery
from app.api.openapi_parts import binary_answer, upload_body
from app.api.routing import router
from app.api.schemas.checkpoints import (
    Checkpoint,
    CheckpointChanges,
    CheckpointList,
    ParameterList,
    parameter_list,
)
from app.api.schemas.values import Tensor
from app.api.uploads import UploadDep
from app.domain.documents import NPY, SAFETENSORS
from app.domain.errors import UnsupportedMedia
from app.http.responses import JsonResponse
from app.service.resources.checkpoints import Alias

routes = router("checkpoints")

OCTETS = "application/octet-stream"


@routes.get("/v1/fits/{fit_id}/checkpoints", response_model=CheckpointList)
def list_checkpoints(fit_id: FitId, query: CheckpointQuery, checkpoints: CheckpointsDep) -> Response:
    """List the checkpoints of a fit.

    Lists the checkpoints that are kept for a fit, in pages.
    """
    return JsonResponse(CheckpointList.show(checkpoints.of_fit(fit_id, query.page, query.filters)))


@routes.get("/v1/checkpoints", response_model=CheckpointList)
def list_all_checkpoints(
    query: CheckpointQuery,
    checkpoints: CheckpointsDep,
    fit: Annotated[str | None, Query(max_length=64, description="Only those of this fit.")] = None,
    session: Annotated[str | None, Query(max_length=64, description="Only those of this session.")] = None,
    graph: Annotated[str | None, Query(max_length=64, description="Only those of this graph.")] = None,
) -> Response:
    """List checkpoints.

    Lists the checkpoints of all fits and sessions, and those that were uploaded, in pages, newest first by default.
    """
    found = checkpoints.list(query.page, query.filters, fit=fit, session=session, graph=graph)
    return JsonResponse(CheckpointList.show(found))


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
    body: UploadDep,
    graph: Annotated[str, Query(max_length=64, description="Id of the graph that the parameters belong to.")],
    checkpoints: CheckpointsDep,
    idempotent: IdempotentDep,
    slow: SlowDep,
) -> Response:
    """Upload a checkpoint.

    Stores a file of parameters in the safetensors format as a checkpoint of a graph. The names, shapes and dtypes
    must be those of the graph's parameters.
    """
    if content_type(body.request) not in (SAFETENSORS, OCTETS):
        raise UnsupportedMedia(f"this route reads {SAFETENSORS}; set Content-Type to that")
    async with body.write_to(checkpoints.open_upload) as upload:
        return await idempotent.answer_in_thread(
            slow,
            lambda save_response: checkpoints.create(upload, graph, save_response),
            Checkpoint.show,
            payload=upload.digest.encode(),
        )


@routes.get("/v1/checkpoints/{checkpoint_id}", response_model=Checkpoint)
def get_checkpoint(checkpoint_id: CheckpointId, checkpoints: CheckpointsDep) -> Response:
    """Get a checkpoint.

    Returns the metadata of a checkpoint: step, epoch, metrics, digest and links; not its content.
    """
    return JsonResponse(Checkpoint.show(checkpoints.get(checkpoint_id)))


@routes.get(
    "/v1/checkpoints/{checkpoint_id}/content", response_class=Response, responses=binary_answer(SAFETENSORS) | REDIRECT
)
def download_checkpoint(
    checkpoint_id: CheckpointId,
    request: Request,
    checkpoints: CheckpointsDep,
    only: Annotated[
        Literal["parameters"] | None, Query(description="Leave out buffers and optimizer state; default all.")
    ] = None,
) -> Response:
    """Download the content of a checkpoint.

    Returns the file in the safetensors format. Range requests and `If-None-Match` are supported.
    """
    name = f"{checkpoint_id}.safetensors"
    if only is None:
        checkpoint, url = checkpoints.signed_url(checkpoint_id)
        elsewhere = redirect(request, url, checkpoint.digest)
        if elsewhere is not None:
            return elsewhere
        checkpoint, file = checkpoints.open(checkpoint_id)
        return send_file(request, opened(file, SAFETENSORS, name, checkpoint.digest, checkpoint.digest))
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
