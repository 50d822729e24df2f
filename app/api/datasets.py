"""Routes of datasets."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import Depends, Query, Request, Response

from app.api.bodies import content_type, packing_of
from app.api.deps import DatasetId, DatasetsDep, ExportsDep, SlowDep
from app.api.downloads import REDIRECT, is_current, open_file, opened, redirect, send_file
from app.api.idempotency import IdempotentDep
from app.api.list_queries import DatasetQuery
from app.api.openapi_parts import binary_answer, upload_body
from app.api.routing import router
from app.api.schemas.datasets import Dataset, DatasetList, DatasetRows
from app.api.uploads import UploadDep
from app.domain.documents import JSON, NPY, NPZ, SAFETENSORS
from app.domain.errors import Finding, Invalid, UnsupportedMedia
from app.http.responses import JsonResponse, not_modified
from app.ingest.arrow_ipc import FILE_MAGIC
from app.ingest.csv_dialect import Decimal, Encoding
from app.ingest.exported import ExportFormat
from app.ingest.limits import Delimiter, ImageDtype, ImageMode, IngestOptions
from app.ingest.limits import Header as HeaderOption
from app.ingest.packed import SUFFIXES, packing
from app.service.resources.datasets import MANIFEST, Datasets, UploadOptions
from app.service.resources.exports import Export, Exports

routes = router("datasets")

BEYOND_ROWS = 2**53
"""No dataset has as many rows; larger numbers fit into no answer."""

ARROW_FILE, ARROW_STREAM = "application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream"
ZIP = "application/zip"
FORMATS: Mapping[str, str] = MappingProxyType(
    {
        JSON: "json",
        "text/csv": "csv",
        NPY: "npy",
        NPZ: "npz",
        SAFETENSORS: "safetensors",
        "application/x-ndjson": "ndjson",
        "application/vnd.apache.parquet": "parquet",
        ARROW_STREAM: "arrow",
        ARROW_FILE: "arrow",
        ZIP: "zip",
    }
)
MEDIA_TYPES = MappingProxyType({format: kind for kind, format in FORMATS.items()} | {MANIFEST: JSON})
HEAD_BYTES = 8
OCTETS = "application/octet-stream"

COLUMNS = """Columns to take from a CSV file, as NAME:DTYPE[SIZES]=SOURCES, joined by commas; the \
rest of the file is left out. SOURCES are names of the header, or ranges of them: \
x:float32[4]=sepal_length..petal_width,species:class. A column without SOURCES takes the one of its own name. In a \
file without a header, columns take all cells by position: x:float32[4],species:class. DTYPE is a numeric one or \
class. A name that holds one of , : = [ ] is put in double quotes."""
HEADER = """Whether line 1 of a CSV file names the columns. With auto it does if it holds a name that `columns` asks \
for, or no number; a line of different whole numbers, which may be either, is an error unless `columns` is given. A \
file without a header and without `columns` has the columns column_1, column_2, ..."""

MISSING = """Cells of a CSV file that stand for missing values beside empty ones, joined by commas: NA,?. By default \
NA, N/A, null and nan stand for missing numbers too, and text columns that hold them are refused."""

IMAGE_SIZE = """HEIGHTxWIDTH in pixels, or one side of a square, to which images are scaled, in a zip file or as bytes \
in a column of Parquet or Arrow; by default they must all be of one size."""
IMAGE_MODE = "Channels of images: grey, colours, or colours and opacity; by default RGB."
IMAGE_DTYPE = "uint8 from 0 to 255 (the default), or float32 from 0 to 1, of images."
LIKE_BEFORE = "With rows that are appended to a dataset or given to a model, images are read as theirs were."

ACCEPTED = MappingProxyType({JSON: "InlineDataset", **{kind: None for kind in (*FORMATS, OCTETS) if kind != JSON}})
"""The media types of uploads."""

FormatName = Literal["json", "csv", "npy", "npz", "safetensors", "ndjson", "parquet", "arrow", "zip"]


def _words(missing: str | None) -> tuple[str, ...]:
    """Return the words of a list that is joined by commas."""
    return () if missing is None else tuple(dict.fromkeys(word for word in missing.split(",") if word))


async def _csv_options(
    columns: Annotated[str | None, Query(max_length=16384, description=COLUMNS)] = None,
    header: Annotated[HeaderOption, Query(description=HEADER)] = "auto",
    missing: Annotated[str | None, Query(max_length=1024, description=MISSING)] = None,
    delimiter: Annotated[
        Delimiter,
        Query(
            description="Delimiter of the cells of a CSV file, by name or as it is; auto detects it in the first lines."
        ),
    ] = "auto",
    decimal: Annotated[Decimal, Query(description="Decimal separator of a CSV file.")] = "point",
    encoding: Annotated[Encoding, Query(description="Encoding of a CSV file.")] = "utf-8",
) -> IngestOptions:
    return IngestOptions(columns, None, header, _words(missing), delimiter, decimal, encoding)


CsvOptionsDep = Annotated[IngestOptions, Depends(_csv_options)]
"""How a CSV file in the body is to be read."""


async def _reading(
    csv: CsvOptionsDep,
    image_size: Annotated[str | None, Query(max_length=16, description=f"{IMAGE_SIZE} {LIKE_BEFORE}")] = None,
    image_mode: Annotated[ImageMode | None, Query(description=f"{IMAGE_MODE} {LIKE_BEFORE}")] = None,
    image_dtype: Annotated[ImageDtype | None, Query(description=f"{IMAGE_DTYPE} {LIKE_BEFORE}")] = None,
) -> IngestOptions:
    return replace(csv, image_size=image_size, image_mode=image_mode, image_dtype=image_dtype)


ReadingDep = Annotated[IngestOptions, Depends(_reading)]
"""How a file in the body is to be read."""


async def read_upload_options(
    request: Request,
    reading: ReadingDep,
    name: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=200,
            description="A name for the dataset; by default that in the file, else 'dataset'.",
        ),
    ] = None,
    format: Annotated[
        FormatName | None, Query(description="Format of the body; required with application/octet-stream.")
    ] = None,
    column: Annotated[
        str | None, Query(max_length=64, description='Name of the column that a .npy file becomes; default "x".')
    ] = None,
) -> UploadOptions:
    kind = content_type(request, packed=True)
    if format is not None and kind in FORMATS and FORMATS[kind] != format:
        detail = f"the Content-Type says {FORMATS[kind]} and ?format= {format}; leave one out"
        raise Invalid(detail, code="conflict", findings=[Finding("/format", "conflict", detail)])
    known = format if kind == OCTETS else FORMATS.get(kind)
    if known is None:
        accepted = ", ".join((*FORMATS, OCTETS))
        raise UnsupportedMedia(f"send one of {accepted}; the last one with ?format=")
    return UploadOptions(known, name, replace(reading, column=column, content_encoding=packing_of(request)))


@routes.post(
    "/v1/datasets",
    status_code=201,
    response_model=Dataset,
    openapi_extra=upload_body(ACCEPTED),
)
async def create_dataset(
    body: UploadDep,
    terms: Annotated[UploadOptions, Depends(read_upload_options)],
    datasets: DatasetsDep,
    idempotent: IdempotentDep,
    slow: SlowDep,
) -> Response:
    """Create a dataset.

    Parses the request body in a confined process and stores its columns. If any part of the body is invalid,
    nothing is stored. A body with the digest of a stored file shares its storage.
    """
    async with body.write_to(datasets.open_upload) as upload:
        return await idempotent.answer_in_thread(
            slow,
            lambda save_response: datasets.create(upload, terms, save_response),
            Dataset.show,
            payload=upload.digest.encode(),
        )


@routes.get("/v1/datasets", response_model=DatasetList)
def list_datasets(
    query: DatasetQuery,
    datasets: DatasetsDep,
    origin: Annotated[str | None, Query(max_length=64, description="Only those made of this dataset.")] = None,
) -> Response:
    """List datasets.

    Lists the datasets of the caller's tenant in pages, newest first by default.
    """
    return JsonResponse(DatasetList.show(datasets.list(query.page, query.filters, origin=origin)))


@routes.get("/v1/datasets/{dataset_id}", response_model=Dataset)
def get_dataset(dataset_id: DatasetId, datasets: DatasetsDep) -> Response:
    """Get a dataset.

    Returns the columns of a dataset with dtype, shape, minimum, maximum, mean and the number of missing values.
    """
    return JsonResponse(Dataset.show(datasets.get(dataset_id)))


@routes.get("/v1/datasets/{dataset_id}/rows", response_model=DatasetRows)
def list_dataset_rows(
    dataset_id: DatasetId,
    datasets: DatasetsDep,
    offset: Annotated[int, Query(ge=0, description="Index of the first row, from 0.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of rows.")] = 100,
) -> Response:
    """List rows of a dataset.

    Returns `limit` rows from `offset` on. A value that is missing or not finite is null.
    """
    total, columns = datasets.rows(dataset_id, min(offset, BEYOND_ROWS), limit)
    if offset > total:
        detail = f"query parameter: the dataset has {total} rows, so none follows the first {min(offset, BEYOND_ROWS)}"
        raise Invalid(detail, code="out_of_range", findings=[Finding("/offset", "out_of_range", detail)])
    return JsonResponse(_rows(total, offset, columns))


@routes.get(
    "/v1/datasets/{dataset_id}/content",
    response_class=Response,
    responses=binary_answer(OCTETS, *FORMATS) | REDIRECT,
)
async def download_dataset(
    dataset_id: DatasetId,
    request: Request,
    datasets: DatasetsDep,
    exports: ExportsDep,
    slow: SlowDep,
    format: Annotated[
        ExportFormat | None,
        Query(description="Format to write the rows in; by default the bytes are as they were uploaded."),
    ] = None,
) -> Response:
    """Download a dataset.

    Returns the bytes as they were uploaded; of a dataset that was made of others, the description of its columns with
    their digests. With `format`, returns the rows as a file that an upload reads back to the same columns, labels,
    types and missing values: CSV with the `columns` option that is `csv_columns` of the dataset, Parquet, Arrow IPC or
    npz. Range requests and `If-None-Match` are supported; a file is complete before its first byte is sent.
    """
    if format is None:
        return await to_thread.run_sync(_send_original, request, datasets, dataset_id)
    export = await to_thread.run_sync(exports.get, dataset_id, format)
    if is_current(request, export.tag):
        return not_modified(f'"{export.tag}"')
    return await to_thread.run_sync(_send_export, request, exports, export, limiter=slow)


def _send_original(request: Request, datasets: Datasets, dataset_id: str) -> Response:
    dataset, url = datasets.signed_url(dataset_id)
    elsewhere = redirect(request, url, dataset.digest)
    if elsewhere is not None:
        return elsewhere
    dataset, file = datasets.open(dataset_id)
    name = f"{dataset.id}.{dataset.format}"
    download = opened(file, MEDIA_TYPES[dataset.format], name, dataset.digest, dataset.digest)
    head = download.file.read(HEAD_BYTES)
    packed = packing(head)
    if packed is not None:
        # No Content-Encoding: clients would unpack what they asked for as it was sent.
        download = replace(download, media_type=f"application/{packed}", name=f"{name}{SUFFIXES[packed]}")
    elif dataset.format == "arrow" and not head.startswith(FILE_MAGIC):
        download = replace(download, media_type=ARROW_STREAM, name=f"{name}s")
    return send_file(request, download)


def _send_export(request: Request, exports: Exports, export: Export) -> Response:
    path = exports.write(export)
    name = f"{export.dataset.id}.{export.format}"
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        download = open_file(path, MEDIA_TYPES[export.format], name, export.tag, digest)
    finally:
        path.unlink()
    return send_file(request, download)


@routes.delete("/v1/datasets/{dataset_id}", status_code=204)
def delete_dataset(dataset_id: DatasetId, datasets: DatasetsDep) -> None:
    """Delete a dataset.

    Deletes a dataset. Returns 409 while an unfinished fit uses it.
    """
    datasets.delete(dataset_id)


def _rows(total: int, offset: int, columns: Mapping[str, Any]) -> dict[str, Any]:
    count = min((len(array) for array in columns.values()), default=0)
    rows = [{name: array[index] for name, array in columns.items()} for index in range(count)]
    return {"object": "list", "data": rows, "has_more": offset + count < total, "offset": offset, "total": total}
