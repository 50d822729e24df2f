"""Routes that predict and evaluate with a checkpoint: given inputs, stored datasets, or tables in the body."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Header, Query, Request, Response

from app.api.bodies import content_type, packing_of, read_body, read_json_body, receive
from app.api.datasets import FORMATS, ZIP, ReadingDep
from app.api.deps import CheckpointId, CheckpointsDep, PredictionsDep, Services, SettingsDep, SlowDep, services_of
from app.api.diagnostics import REFUSALS, ThreadsDep, answer_of
from app.api.openapi_parts import binary_answer, query_parameters, upload_body
from app.api.routing import router
from app.api.schemas.predictions import (
    EvaluateOptions,
    EvaluateRequest,
    Evaluation,
    Prediction,
    PredictRequest,
    RowOptions,
    RowPredictions,
    TableOptions,
)
from app.domain.documents import JSON, NPY, NPZ
from app.domain.errors import ApiError, Finding, Invalid, UnsupportedMedia, storage_faults
from app.domain.frames import to_json
from app.http.responses import select_media_type
from app.http.validation import redact, validated, validated_text
from app.ingest.image_zip import FILE
from app.ingest.table_files import CSV, NDJSON, PARQUET, TABLE_TYPES
from app.service.fits.predictions import EvaluationChoice, PredictionChoice, RowChoice, Rows
from app.service.resources.datasets import UploadOptions

routes = router("checkpoints")

DIALECT = ("missing", "delimiter", "decimal", "encoding")
NPY_BYTES_MAX = 64 * 1024**2
TABLES: Mapping[str, str] = MappingProxyType({k: f for k, f in FORMATS.items() if k not in (JSON, NPY)})
"""The format of a table in a body by its content type."""
IMAGE_OPTIONS = ("image_size", "image_mode", "image_dtype")
READING: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "csv": ("columns", "header", *DIALECT),
        "zip": (*DIALECT, *IMAGE_OPTIONS),
        "parquet": IMAGE_OPTIONS,
        "arrow": IMAGE_OPTIONS,
    }
)
"""Parameters that say how a table of a format is read."""
ANSWERS = MappingProxyType({**TABLE_TYPES, "npy": NPY})
"""The media type of each format of a response."""

Format = Literal["json", "npy", "ndjson", "csv", "npz", "parquet"]
T = TypeVar("T")


async def _answer_type(
    request: Request,
    format: Annotated[
        Format | None,
        Query(description="Format of the response; by default that of the Accept header, else that of the body."),
    ] = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "*/*",
) -> str:
    if format is not None:
        return ANSWERS[format]
    kind = content_type(request, packed=True)
    own = kind if kind in ANSWERS.values() else JSON
    return select_media_type(accept, (own, *(each for each in ANSWERS.values() if each != own)))


async def _table_terms(request: Request, reading: ReadingDep) -> UploadOptions:
    kind = content_type(request, packed=True)
    if kind not in TABLES:
        content_type(request)  # only tables may be compressed
    return UploadOptions(TABLES.get(kind, "json"), None, replace(reading, content_encoding=packing_of(request)))


@dataclass(frozen=True, slots=True)
class _Call:
    """What the routes of this file need of a request."""

    request: Request
    services: Services
    slow: CapacityLimiter
    threads: CapacityLimiter
    terms: UploadOptions

    def with_names(self) -> Self:
        """Return the same call, with the names of images as a column."""
        terms = replace(self.terms, options=replace(self.terms.options, image_names=True))
        return replace(self, terms=terms)


async def _call(
    request: Request,
    slow: SlowDep,
    threads: ThreadsDep,
    terms: Annotated[UploadOptions, Depends(_table_terms)],
    feeds: Annotated[
        str | None,
        Query(
            max_length=16384,
            description="Pairs INPUT:COLUMN, joined by commas, for a table as the body; by default of equal names.",
        ),
    ] = None,
) -> _Call:
    del feeds  # read with the other options of a table
    return _Call(request, services_of(request), slow, threads, terms)


CallDep = Annotated[_Call, Depends(_call)]
AnswerTypeDep = Annotated[str, Depends(_answer_type)]
BODIES = dict.fromkeys(TABLES)


@routes.post(
    "/v1/checkpoints/{checkpoint_id}:predict",
    response_model=Prediction | RowPredictions,
    responses={**binary_answer(NPY, CSV, NDJSON, NPZ, PARQUET), **REFUSALS},
    openapi_extra={
        **upload_body({JSON: "PredictRequest", NPY: None, **BODIES}),
        "parameters": query_parameters(TableOptions),
    },
)
async def predict_with_checkpoint(
    checkpoint_id: CheckpointId,
    call: CallDep,
    media: AnswerTypeDep,
    checkpoints: CheckpointsDep,
    predictions: PredictionsDep,
    settings: SettingsDep,
    input: Annotated[
        str | None, Query(description="Name of the input that a .npy body holds; required if the graph has several.")
    ] = None,
    output: Annotated[
        str | None,
        Query(description="Name of the output that a .npy response holds; required if the graph has several."),
    ] = None,
) -> Response:
    """Predict with a checkpoint.

    Computes the outputs in evaluation mode: for given inputs (JSON, or `.npy` where there is one of them), for the rows
    of a stored dataset, or for a table that is the body and is not kept. Rows of a dataset or table keep their order;
    the response is JSON, NDJSON, CSV, npz or Parquet, is complete before its first byte is sent, and holds class names,
    probabilities and numbers in the units of the target. Memory does not grow with the rows.
    """
    request = call.request
    kind = content_type(request, packed=True)
    if output is not None and media != NPY:
        raise _misplaced("output", "only an answer in .npy holds one output; leave this out, or ask for format=npy")
    if input is not None and kind != NPY:
        raise _misplaced("input", "for a .npy body; a JSON body names its inputs, and a table its columns")
    options = {"input": input, "output": output}
    if kind == NPY:
        _check_query(request, ())
        body = await read_body(request, NPY_BYTES_MAX)
        _check_tensors(media)
        return await answer_of(
            request, call.threads, lambda: checkpoints.prediction(checkpoint_id, body, kind, options, media)
        )
    shape = await _read(call, PredictRequest, TableOptions)
    if isinstance(shape, PredictRequest) and shape.inputs is not None:
        _check_tensors(media)
        content = to_json({"inputs": shape.inputs})
        return await answer_of(
            request, call.threads, lambda: checkpoints.prediction(checkpoint_id, content, JSON, options, media)
        )
    if media == NPY:
        raise _misplaced("format", "a .npy file holds one array, and these are rows; ask for npz, csv, json or parquet")
    wanted = PredictionChoice(**_given(shape, PredictionChoice))
    if kind == ZIP:
        call = call.with_names()
        wanted = wanted if wanted.id_column is not None else replace(wanted, id_column=FILE)
    choice = _choice(request, shape)
    with ExitStack() as held:
        rows = await _rows(call, checkpoint_id, shape, choice, held, settings.max_upload_bytes)
        return await answer_of(
            request, call.threads, lambda: predictions.prediction(checkpoint_id, rows, choice, wanted, media)
        )


@routes.post(
    "/v1/checkpoints/{checkpoint_id}:evaluate",
    response_model=Evaluation,
    responses=REFUSALS,
    openapi_extra={
        **upload_body({JSON: "EvaluateRequest", **BODIES}),
        "parameters": query_parameters(EvaluateOptions),
    },
)
async def evaluate_checkpoint(
    checkpoint_id: CheckpointId, call: CallDep, predictions: PredictionsDep, settings: SettingsDep
) -> Response:
    """Evaluate a checkpoint.

    Computes the loss and the metrics on the rows of a stored dataset, or of a table that is the body and is not kept,
    as the validation of a fit does. For predicted classes there are a confusion matrix, precision, recall and F1 of
    each class, the calibration and ROC curves; for predicted numbers the distribution of the errors. Class weights of
    the fit are not applied. Memory does not grow with the rows.
    """
    shape = await _read(call, EvaluateRequest, EvaluateOptions)
    wanted = EvaluationChoice(**_given(shape, EvaluationChoice))
    choice = _choice(call.request, shape)
    with ExitStack() as held:
        rows = await _rows(call, checkpoint_id, shape, choice, held, settings.max_upload_bytes)
        return await answer_of(
            call.request, call.threads, lambda: predictions.evaluation(checkpoint_id, rows, choice, wanted)
        )


async def _read(call: _Call, document: type[T], options: type[RowOptions]) -> T | RowOptions:
    """Return what a JSON body says, or what the query says beside a table; UnsupportedMedia for any other body."""
    kind = content_type(call.request, packed=True)
    if kind in TABLES:
        _check_query(call.request, ("feeds", *options.model_fields, *READING.get(TABLES[kind], ())))
        own = {k: v for k, v in call.request.query_params.items() if k in options.model_fields}
        return validated_text(options, own)
    if kind != JSON:
        accepted = ", ".join((JSON, NPY, *TABLES))
        raise UnsupportedMedia(f"this route reads {accepted}; set Content-Type to one of them")
    _check_query(call.request, ())
    _, body = await read_json_body(call.request)
    try:
        return validated(document, body)  # type: ignore[type-var]
    except ApiError as error:
        raise redact(error, body) from error


def _check_query(request: Request, allowed: tuple[str, ...]) -> None:
    """Invalid if the query says what is for another kind of body."""
    for name in request.query_params:
        if name not in (*allowed, "format", "input", "output"):
            raise _misplaced(name, "for a table as the body; leave this out, or say it in the body where that is JSON")


def _check_tensors(media: str) -> None:
    if media not in (JSON, NPY):
        detail = "inputs are answered as json or npy; send a table or name a dataset for rows in other formats"
        raise _misplaced("format", detail)


def _given(shape: Any, choice: type[Any]) -> dict[str, Any]:
    """Return the fields of a request that a choice has too, without those that are null."""
    fields = {name: getattr(shape, name, None) for name in choice.__slots__}
    return {name: value for name, value in fields.items() if value is not None}


def _choice(request: Request, shape: RowOptions) -> RowChoice:
    feeds = getattr(shape, "feeds", None) or {}
    listed = request.query_params.get("feeds")
    if listed is not None:
        pairs = [pair.partition(":") for pair in listed.split(",")]
        if not all(name and column for name, _, column in pairs):
            raise _misplaced("feeds", "must be pairs INPUT:COLUMN, joined by commas", "malformed")
        feeds = {name.strip(): column.strip() for name, _, column in pairs}
    return RowChoice(feeds, shape.start or 0, shape.stop)


async def _rows(
    call: _Call, checkpoint_id: str, shape: Any, choice: RowChoice, held: ExitStack, bytes_max: int
) -> Rows:
    """Return the rows that a request names or brings; files of theirs are gone when `held` is closed."""
    predictions = call.services.predictions
    dataset = getattr(shape, "dataset", None)
    if dataset is not None and not isinstance(dataset, dict):
        return await asyncio.to_thread(predictions.stored_rows, dataset)
    folder = await asyncio.to_thread(held.enter_context, predictions.upload_folder())
    path = folder / "upload"
    pointer = "" if dataset is None else "/dataset"
    with await asyncio.to_thread(_TableFile, path) as file:
        if dataset is None:
            await receive(call.request, file, bytes_max)
        else:
            encoded = json.dumps(dataset, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")
            await asyncio.to_thread(file.write, encoded)
    read = partial(predictions.table_rows, folder, path, call.terms, checkpoint_id, choice, pointer)
    try:
        return await to_thread.run_sync(read, limiter=call.slow)
    except ApiError as error:
        error.findings = tuple(replace(fault, pointer=f"{pointer}{fault.pointer}") for fault in error.findings)
        raise


class _TableFile:
    """A temporary file that a table is received in."""

    def __init__(self, path: Path) -> None:
        with storage_faults("the table"):
            self._file = path.open("xb")

    def __enter__(self) -> "_TableFile":
        return self

    def __exit__(self, *exception: object) -> None:
        with storage_faults("the table"):
            self._file.close()

    def write(self, data: bytes | bytearray) -> None:
        """Append; StorageFull or StorageFailed if the disk does not take it."""
        with storage_faults("the table"):
            self._file.write(data)


def _misplaced(name: str, detail: str, code: str = "conflict") -> Invalid:
    finding = Finding(f"/{name}", code, f"query parameter: {detail}")
    return Invalid(finding.detail, code=finding.code, findings=[finding])
