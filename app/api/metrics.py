"""Routes of metric rows."""

import asyncio
import csv
import hashlib
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import orjson
from fastapi import Depends, Query, Request, Response

from app.api.deps import FitId, IfNoneMatch, MetricsDep, services_of
from app.api.openapi_parts import text_answer
from app.api.routing import Handler, StrictRoute, router
from app.api.schemas.fits import MetricRows
from app.http.responses import TAG_BYTES, JsonResponse, matches, not_modified
from app.service.fits.metrics import MetricPage, Metrics, RowFilter

routes = router("metrics")

LIMIT_MAX = 10_000
POINTS_MAX = 10_000
INLINE_CHARACTERS = 512 * 1024
"""Longest page that is put together in the event loop, which takes a fraction of a millisecond."""
QUERIES_KEPT = 4096
"""Queries whose parameters are remembered, and how long they may be."""
KEPT_QUERY_BYTES = 256
NDJSON = "application/x-ndjson"
CSV = "text/csv"
FIXED = ("seq", "step", "epoch", "split", "at")
"""Members of a row that are columns of their own; `at` where it was asked for."""


async def _filter(
    keys: Annotated[
        str | None, Query(min_length=1, max_length=4096, description="Only these values, separated by commas.")
    ] = None,
    every: Annotated[int, Query(ge=1, description="Only steps that are multiples of this.")] = 1,
    split: Annotated[Literal["train", "validation"] | None, Query(description="Only rows of this split.")] = None,
    timestamps: Annotated[
        bool, Query(description="Add the time at which it was stored to each row: at, RFC 3339 in UTC.")
    ] = False,
) -> RowFilter:
    return RowFilter(tuple(key for key in (keys or "").split(",") if key), every, split, timestamps)


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
        if self.downsample is None:
            page = metrics.page(fit_id, self.after, self.limit, self.rows)
        else:
            page = metrics.downsampled(fit_id, self.after, self.downsample, self.rows)
        return self.encode(fit_id, page)

    def known_answer(self, metrics: Metrics, fit_id: str, stored: int) -> Response | None:
        """Answer from memory, as most polls can be; None where rows have to be read or take long to encode."""
        if self.after == stored:  # nothing new
            return self.encode(fit_id, MetricPage((), self.after, stored))
        if self.downsample is not None or self.format == "csv":
            return None
        page = metrics.known_page(fit_id, self.after, self.limit, self.rows, stored)
        if page is None or sum(map(len, page.rows)) > INLINE_CHARACTERS:
            return None
        return self.encode(fit_id, page)

    def encode(self, fit_id: str, page: MetricPage) -> Response:
        answer = _encode_page(page, self.format)
        answer.headers["ETag"] = self.tag(fit_id, page.stored)
        return answer


async def _query(
    request: Request,
    rows: Annotated[RowFilter, Depends(_filter)],
    after: Annotated[int, Query(ge=0, description="The last `seq` that the client has received.")] = 0,
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX, description="Maximum number of rows.")] = 1000,
    format: Annotated[Literal["json", "ndjson", "csv"], Query(description="Format of the rows.")] = "json",
    downsample: Annotated[
        int | None,
        Query(
            ge=2,
            le=POINTS_MAX,
            description="Return about this many rows, with the extremes of the first of `keys`, or of the loss.",
        ),
    ] = None,
) -> _Query:
    query = request.state.metric_query = _Query(rows, after, limit, format, downsample)
    return query


class MetricsRoute(StrictRoute):
    """The route of metric rows. A query that was asked before, of a fit whose number of rows is in memory, is answered
    there and then if its rows are in memory too: to read its parameters takes longer than to answer it.
    """

    def make_handler(self) -> Handler:
        """Wrap the handler that knows what to do about all other queries."""
        handle = super().make_handler()
        queries: dict[bytes, _Query] = {}

        async def polled(request: Request) -> Response:
            query_string = request.scope["query_string"]
            query = queries.get(query_string)
            known = None if query is None else _from_memory(request, query)
            if known is not None:
                return known
            answer = await handle(request)
            if len(query_string) <= KEPT_QUERY_BYTES:
                queries[query_string] = request.state.metric_query
                if len(queries) > QUERIES_KEPT:
                    del queries[next(iter(queries))]
            return answer

        return polled


def _from_memory(request: Request, query: _Query) -> Response | None:
    metrics, fit_id = services_of(request).metrics, request.path_params["fit_id"]
    stored = metrics.known_last(fit_id)
    if stored is None:
        return None
    tag = query.tag(fit_id, stored)
    if matches(request.headers.get("if-none-match"), tag):
        return not_modified(tag)
    return query.known_answer(metrics, fit_id, stored)


async def list_metrics(
    fit_id: FitId, metrics: MetricsDep, query: Annotated[_Query, Depends(_query)], if_none_match: IfNoneMatch = None
) -> Response:
    """List metric rows.

    Lists the metric rows of a fit in order, as JSON, NDJSON or CSV. The ETag of a response stays the same until a
    new row is stored.
    """
    stored = await metrics.last(fit_id)
    tag = query.tag(fit_id, stored)
    if matches(if_none_match, tag):
        return not_modified(tag)
    known = query.known_answer(metrics, fit_id, stored)
    return await asyncio.to_thread(query.answer, metrics, fit_id) if known is None else known


routes.add_api_route(
    "/v1/fits/{fit_id}/metrics",
    list_metrics,
    response_model=MetricRows,
    responses=text_answer(NDJSON, "The rows in the requested format."),
    route_class_override=MetricsRoute,
)


def _encode_page(page: MetricPage, format: str) -> Response:
    if format == "ndjson":
        return Response("".join(f"{row}\n" for row in page.rows), media_type=NDJSON)
    if format == "csv":
        return Response(_csv(page.rows), media_type=CSV)
    # The rows are JSON already, each as it was first stored: put together, not read again.
    has_more, cursor = ("true", f'"{page.last_seq}"') if page.has_more else ("false", "null")
    findings = orjson.dumps([asdict(finding) for finding in page.findings]).decode()
    tail = f'"has_more":{has_more},"next_cursor":{cursor},"next_after":{page.last_seq},"findings":{findings}'
    return JsonResponse(f'{{"object":"list","data":[{",".join(page.rows)}],{tail}}}'.encode())


def _csv(bodies: Iterable[str]) -> str:
    rows = [orjson.loads(body) for body in bodies]
    keys = list(dict.fromkeys(key for row in rows for key in row["values"]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    fixed = [name for name in FIXED if name != "at" or (rows and name in rows[0])]
    writer.writerow((*fixed, *keys))
    for row in rows:
        values = {key: repr(value) for key, value in row["values"].items() if value is not None} | row["nonfinite"]
        writer.writerow((*(row[name] for name in fixed), *(values.get(key, "") for key in keys)))
    return text.getvalue()
