"""Routes of metric rows."""

import csv
import io
from collections.abc import Iterable
from typing import Annotated, Literal

import orjson
from fastapi import Depends, Query, Response

from app.api.answers import JsonAnswer
from app.api.deps import FitId, MetricsDep
from app.api.openapi_parts import text_answer
from app.api.routing import router
from app.api.schemas.fits import MetricRows
from app.service.metrics import MetricPage, RowFilter

routes = router("metrics")

LIMIT_MAX = 10_000
POINTS_MAX = 10_000
NDJSON = "application/x-ndjson"
CSV = "text/csv"
FIXED = ("seq", "step", "epoch", "split")


async def _filter(
    keys: Annotated[str | None, Query(max_length=4096, description="Only these values, separated by commas.")] = None,
    every: Annotated[int, Query(ge=1, description="Only steps that are multiples of this.")] = 1,
    split: Annotated[Literal["train", "validation"] | None, Query(description="Only rows of this split.")] = None,
) -> RowFilter:
    return RowFilter(tuple(key for key in (keys or "").split(",") if key), every, split)


@routes.get(
    "/v1/fits/{fit_id}/metrics",
    response_model=MetricRows,
    responses=text_answer(NDJSON, "The rows, in the format that was asked for."),
)
def list_metrics(
    fit_id: FitId,
    metrics: MetricsDep,
    rows: Annotated[RowFilter, Depends(_filter)],
    after: Annotated[int, Query(ge=0, description="The last seq that the client has.")] = 0,
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX)] = 1000,
    format: Annotated[Literal["json", "ndjson", "csv"], Query()] = "json",
    downsample: Annotated[
        int | None, Query(ge=2, le=POINTS_MAX, description="About so many rows in place of all, with the extremes.")
    ] = None,
) -> Response:
    """List metric rows in order."""
    if downsample is None:
        return _spelled(metrics.page(fit_id, after, limit, rows), format)
    return _spelled(metrics.downsampled(fit_id, after, downsample, rows), format)


def _spelled(page: MetricPage, format: str) -> Response:
    if format == "ndjson":
        return Response("".join(f"{row}\n" for row in page.rows), media_type=NDJSON)
    if format == "csv":
        return Response(_csv(page.rows), media_type=CSV)
    # The rows are JSON already, each as it was first stored: put together, not read again.
    has_more, cursor = ("true", f'"{page.last_seq}"') if page.has_more else ("false", "null")
    tail = f'"has_more":{has_more},"next_cursor":{cursor},"next_after":{page.last_seq}'
    return JsonAnswer(f'{{"object":"list","data":[{",".join(page.rows)}],{tail}}}'.encode())


def _csv(bodies: Iterable[str]) -> str:
    rows = [orjson.loads(body) for body in bodies]
    keys = list(dict.fromkeys(key for row in rows for key in row["values"]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow((*FIXED, *keys))
    for row in rows:
        values = {key: repr(value) for key, value in row["values"].items() if value is not None} | row["nonfinite"]
        writer.writerow((*(row[name] for name in FIXED), *(values.get(key, "") for key in keys)))
    return text.getvalue()
