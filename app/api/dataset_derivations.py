"""Routes that make datasets of others, and of profiles."""

from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Query, Response

from app.api.datasets import ACCEPTED, read_upload_options
from app.api.deps import DatasetId, DatasetsDep, DerivationsDep, ProfilesDep, SlowDep
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
from app.api.uploads import UploadDep
from app.http.responses import JsonResponse
from app.service.resources.datasets import UploadOptions

routes = router("datasets")
DATASETS = "/v1/datasets"


@routes.post(
    "/v1/datasets/{dataset_id}:append", status_code=201, response_model=Dataset, openapi_extra=upload_body(ACCEPTED)
)
async def append_to_dataset(
    dataset_id: DatasetId,
    body: UploadDep,
    terms: Annotated[UploadOptions, Depends(read_upload_options)],
    datasets: DatasetsDep,
    derivations: DerivationsDep,
    idempotent: IdempotentDep,
    slow: SlowDep,
) -> Response:
    """Append rows to a dataset.

    Stores the next version of a dataset: its rows, and after them those of the body, which have the same columns. The
    dataset itself stays as it is, with its id and digest.
    """
    async with body.write_to(datasets.open_upload) as upload:
        return await idempotent.answer_in_thread(
            slow,
            lambda save_response: derivations.append(dataset_id, upload, terms, save_response),
            Dataset.show,
            payload=upload.digest.encode(),
            within=DATASETS,
        )


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
    return await idempotent.answer_in_thread(
        slow,
        lambda save_response: derivations.select(dataset_id, request.selection(), request.name, save_response),
        Dataset.show,
        within=DATASETS,
    )


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
    return await idempotent.answer_in_thread(
        slow,
        lambda save_response: derivations.split(dataset_id, request.selection(), request.name, save_response),
        DatasetSplit.show,
        within=DATASETS,
    )


@routes.post("/v1/datasets:join", status_code=201, response_model=Dataset)
async def join_datasets(
    request: JoinRequest, derivations: DerivationsDep, idempotent: IdempotentDep, slow: SlowDep
) -> Response:
    """Join datasets.

    Stores the rows of datasets with the same columns, one after another, as a dataset. Text columns get the texts of
    all; those of the first keep their numbers.
    """
    return await idempotent.answer_in_thread(
        slow,
        lambda save_response: derivations.join(request.datasets, request.name, save_response),
        Dataset.show,
        within=DATASETS,
    )


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
