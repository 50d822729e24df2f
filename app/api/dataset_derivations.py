"""Routes that make datasets of others, and of profiles."""

import asyncio
from functools import partial
from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Header, Query, Request, Response

from app.api.bodies import receive
from app.api.datasets import ACCEPTED, read_upload_options
from app.api.deps import DatasetId, DatasetsDep, DerivationsDep, ProfilesDep, SettingsDep, SlowDep
from app.api.idempotency import IdempotentDep
from app.api.openapi_parts import upload_body
from app.api.routing import router
from app.api.schemas.dataset_derivations import (
    DatasetProfile,
    DatasetSplit,
    JoinRequest,
    SelectRequest,
    SplitRequest,
)
from app.api.schemas.datasets import Dataset
from app.http.responses import JsonResponse, check_digest, read_digest
from app.service.resources.datasets import UploadOptions

routes = router("datasets")
DATASETS = "/v1/datasets"


@routes.post(
    "/v1/datasets/{dataset_id}:append", status_code=201, response_model=Dataset, openapi_extra=upload_body(ACCEPTED)
)
async def append_to_dataset(
    dataset_id: DatasetId,
    request: Request,
    terms: Annotated[UploadOptions, Depends(read_upload_options)],
    datasets: DatasetsDep,
    derivations: DerivationsDep,
    settings: SettingsDep,
    idempotent: IdempotentDep,
    slow: SlowDep,
    content_digest: Annotated[str | None, Header(description="SHA-256 of the body, checked (RFC 9530).")] = None,
) -> Response:
    """Append rows to a dataset.

    Stores the next version of a dataset: its rows, and after them those of the body, which have the same columns. The
    dataset itself stays as it is, with its id and digest.
    """
    with await asyncio.to_thread(datasets.open_upload) as upload:
        await receive(request, upload, settings.max_upload_bytes)
        check_digest(read_digest(content_digest), upload.digest)
        create = partial(
            idempotent.answer,
            lambda save_response: derivations.append(dataset_id, upload, terms, save_response),
            Dataset.show,
            payload=upload.digest.encode(),
            within=DATASETS,
        )
        return await to_thread.run_sync(create, limiter=slow)


@routes.post("/v1/datasets/{dataset_id}:select", status_code=201, response_model=Dataset)
async def select_dataset_rows(
    dataset_id: DatasetId,
    request: SelectRequest,
    derivations: DerivationsDep,
    idempotent: IdempotentDep,
    slow: SlowDep,
) -> Response:
    """Create a dataset of chosen rows.

    Stores the rows of a range that meet conditions, or a sample of them, as a dataset. Rows keep their order.
    """
    create = partial(
        idempotent.answer,
        lambda save_response: derivations.select(dataset_id, request.selection(), request.name, save_response),
        Dataset.show,
        within=DATASETS,
    )
    return await to_thread.run_sync(create, limiter=slow)


@routes.post("/v1/datasets/{dataset_id}:split", status_code=201, response_model=DatasetSplit)
async def split_dataset(
    dataset_id: DatasetId,
    request: SplitRequest,
    derivations: DerivationsDep,
    idempotent: IdempotentDep,
    slow: SlowDep,
) -> Response:
    """Split a dataset.

    Stores two datasets, one to train on and one to test on; every row is in one of them. With `stratify`, each value
    of that column has the same share in both.
    """
    create = partial(
        idempotent.answer,
        lambda save_response: derivations.split(dataset_id, request.selection(), request.name, save_response),
        DatasetSplit.show,
        within=DATASETS,
    )
    return await to_thread.run_sync(create, limiter=slow)


@routes.post("/v1/datasets:join", status_code=201, response_model=Dataset)
async def join_datasets(
    request: JoinRequest, derivations: DerivationsDep, idempotent: IdempotentDep, slow: SlowDep
) -> Response:
    """Join datasets.

    Stores the rows of datasets with the same columns, one after another, as a dataset. Text columns get the texts of
    all; those of the first keep their numbers.
    """
    create = partial(
        idempotent.answer,
        lambda save_response: derivations.join(request.datasets, request.name, save_response),
        Dataset.show,
        within=DATASETS,
    )
    return await to_thread.run_sync(create, limiter=slow)


@routes.get("/v1/datasets/{dataset_id}/profile", response_model=DatasetProfile)
async def profile_dataset(
    dataset_id: DatasetId,
    profiles: ProfilesDep,
    slow: SlowDep,
    target: Annotated[
        str | None, Query(min_length=1, max_length=512, description="The column that is to be predicted; default none.")
    ] = None,
) -> Response:
    """Profile a dataset.

    Returns histograms, quantiles, classes and duplicates, and with `target` its class balance and how each column
    goes with it; and findings, such as a column that is unique in every row. Large datasets are sampled evenly.
    """
    profile = await to_thread.run_sync(profiles.get, dataset_id, target, limiter=slow)
    return JsonResponse(DatasetProfile.show(profile))
