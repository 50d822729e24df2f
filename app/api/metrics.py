"""Routes of metric rows."""

import asyncio
import csv
import hashlib
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import orjson
from fastapi import Depends, Query, Response

from app.api.answers import TAG_BYTES, JsonAnswer, matches, not_modified
from app.api.deps import FitId, IfNoneMatch, MetricsDep
from app.api.openapi_parts import text_answer
from app.api.routing import router
from app.api.schemas.fits import MetricRows
from app.service.metrics import MetricPage, Metrics, RowFilter

routes = router("metrics")

LIMIT_MAX = 10_000
POINTS_MAX = 10_000
NDJSON = "application/x-ndjson"
CSV = "text/csv"
FIXED = ("seq", "step", "epoch", "split")


async def _filter(
    keys: Annotated[
        str | None, Query(min_length=1, max_length=4096, description="Only these values, separated by commas.")
    ] = None,
    every: Annotated[int, Query(ge=1, description="Only steps that are multiples of this.")] = 1,
    split: Annotated[Literal["train", "validation"] | None, Query(description="Only rows of this split.")] = None,
) -> RowFilter:
    return RowFilter(tuple(key for key in (keys or "").split(",") if key), every, split)


@dataclass(frozen=True, slots=True)
class _Query:
    """What is asked of a curve: with the number of rows that there are it settles the answer."""

    rows: RowFilter
    after: int
    limit: int
    format: Literal["json", "ndjson", "csv"]
    downsample: int | None

    def tag(self, fit_id: str, stored: int) -> str:
        """Return the entity tag of the answer, without the answer."""
        text = f"{fit_id} {stored} {self}"
        return f'"{hashlib.blake2b(text.encode(), digest_size=TAG_BYTES).hexdigest()}"'

    def answer(self, metrics: Metrics, fit_id: str) -> Response:
        """Read the rows and spell them."""
        if self.downsample is None:
            page = metrics.page(fit_id, self.after, self.limit, self.rows)
        else:
            page = metrics.downsampled(fit_id, self.after, self.downsample, self.rows)
        return self.spelled(fit_id, page)

    def spelled(self, fit_id: str, page: MetricPage) -> Response:
        """Spell the rows."""
        answer = _spelled(page, self.format)
        answer.headers["ETag"] = self.tag(fit_id, page.stored)
        return answer


async def _query(
    rows: Annotated[RowFilter, Depends(_filter)],
    after: Annotated[int, Query(ge=0, description="The last seq that the client has.")] = 0,
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX)] = 1000,
    format: Annotated[Literal["json", "ndjson", "csv"], Query()] = "json",
    downsample: Annotated[
        int | None,
        Query(
            ge=2,
            le=POINTS_MAX,
            description="About so many rows in place of all, with the extremes of the first of `keys`, or of the loss.",
        ),
    ] = None,
) -> _Query:
    return _Query(rows, after, limit, format, downsample)


@routes.get(
    "/v1/fits/{fit_id}/metrics",
    response_model=MetricRows,
    responses=text_answer(NDJSON, "The rows, in the format that was asked for."),
)
async def list_metrics(
    fit_id: FitId, metrics: MetricsDep, query: Annotated[_Query, Depends(_query)], if_none_match: IfNoneMatch = None
) -> Response:
    """List metric rows in order. While no new row has come, an answer to the same query keeps its ETag."""
    stored = await metrics.last(fit_id)
    tag = query.tag(fit_id, stored)
    if matches(if_none_match, tag):
        return not_modified(tag)
    if query.after == stored:  # nothing new, as most polls find: that needs no thread
        return query.spelled(fit_id, MetricPage((), query.after, stored))
    return await asyncio.to_thread(query.answer, metrics, fit_id)


def _spelled(page: MetricPage, format: str) -> Response:
    if format == "ndjson":
        return Response("".join(f"{row}\n" for row in page.rows), media_type=NDJSON)
    if format == "csv":
        return Response(_csv(page.rows), media_type=CSV)
    # The rows are JSON already, each as it was first stored: put together, not read again.
    has_more, cursor = ("true", f'"{page.last_seq}"') if page.has_more else ("false", "null")
    findings = orjson.dumps([asdict(finding) for finding in page.findings]).decode()
    tail = f'"has_more":{has_more},"next_cursor":{cursor},"next_after":{page.last_seq},"findings":{findings}'
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
