"""Routes of metric rows."""

import asyncio
import csv
import io
import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

import orjson
from fastapi import Depends, Query, Request, Response

from app.api.deps import FitId, IfNoneMatch, MetricsDep, services_of
from app.api.openapi_parts import text_answer
from app.api.routing import Handler, MemoryRoute, router
from app.api.schemas.fits import MetricRows
from app.http.responses import JsonResponse, entity_tag, matches, not_modified, unless_known
from app.service.fits.metrics import MetricPage, Metrics, RowFilter

routes = router("metrics")

LIMIT_MAX = 10_000
POINTS_MAX = 10_000
INLINE_CHARACTERS = 512 * 1024
"""Longest page that is put together in the event loop, which takes a fraction of a millisecond."""
QUERIES_KEPT = 4096
"""Queries whose parameters are remembered, and how long they may be."""
KEPT_QUERY_BYTES = 256
PAGES_BYTES = 32 * 1024**2
PAGES_KEPT = 4096
"""Memory of the pages that are kept encoded, and their number."""
NDJSON = "application/x-ndjson"
CSV = "text/csv"
ANY_AFTER = b"after= "
"""Stands for every `after` in a query that is remembered; no request has a space in its query."""
_AFTER = re.compile(rb"(?<![^&])after=([0-9]{1,15})(?![^&])")
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
        return entity_tag(f"{fit_id} {stored} {self}".encode())

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
    after: Annotated[int, Query(ge=0, description="Number (`seq`) of the last row that the client has received.")] = 0,
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX, description="Maximum number of rows.")] = 1000,
    format: Annotated[Literal["json", "ndjson", "csv"], Query(description="Format of the rows.")] = "json",
    downsample: Annotated[
        int | None,
        Query(
            ge=2,
            le=POINTS_MAX,
            description="Return about this many rows, with the extremes of the first of `keys`, or of the loss; "
            "default all.",
        ),
    ] = None,
) -> _Query:
    query = request.state.metric_query = _Query(rows, after, limit, format, downsample)
    return query


class EncodedPages:
    """The pages that were asked for last, each as long as its fit has the same number of rows."""

    def __init__(self) -> None:
        self._pages: OrderedDict[tuple[str, bytes], tuple[int, Response]] = OrderedDict()
        self._bytes = 0

    def get(self, fit_id: str, query_string: bytes, stored: int) -> Response | None:
        """Return a page as it was sent."""
        known = self._pages.get((fit_id, query_string))
        if known is None or known[0] != stored:
            return None
        self._pages.move_to_end((fit_id, query_string))
        return known[1]

    def add(self, fit_id: str, query_string: bytes, stored: int, page: Response) -> None:
        """Keep a page, and drop those that were not asked for the longest if they take too much memory."""
        replaced = self._pages.pop((fit_id, query_string), None)
        self._bytes += len(page.body) - (0 if replaced is None else len(replaced[1].body))
        self._pages[fit_id, query_string] = stored, page
        while self._bytes > PAGES_BYTES or len(self._pages) > PAGES_KEPT:
            self._bytes -= len(self._pages.popitem(last=False)[1][1].body)


class KnownQueries:
    """Parameters of the queries that were asked last, for any `after`: that changes from one poll to the next."""

    def __init__(self) -> None:
        self._queries: OrderedDict[bytes, _Query] = OrderedDict()

    def find(self, query_string: bytes) -> _Query | None:
        """Return the parameters of a query; None if it has to be parsed and checked."""
        form, after = _split_after(query_string)
        query = self._queries.get(form)
        return query if query is None or after is None else replace(query, after=after)

    def add(self, query_string: bytes, query: _Query) -> None:
        """Remember a query that was found to be valid, and forget the first one if there are too many."""
        form, _ = _split_after(query_string)
        if len(form) <= KEPT_QUERY_BYTES:
            self._queries[form] = query
            if len(self._queries) > QUERIES_KEPT:
                self._queries.popitem(last=False)


def _split_after(query_string: bytes) -> tuple[bytes, int | None]:
    """Return a query without the value of `after`, and that; None if it is not there once and in plain digits."""
    found = _AFTER.findall(query_string)
    if len(found) != 1:
        return query_string, None
    return _AFTER.sub(ANY_AFTER, query_string), int(found[0])


class MetricsRoute(MemoryRoute):
    """The route of metric rows. A query that was asked before, of a fit whose number of rows is in memory, is answered
    there and then if its rows are in memory too: to read its parameters takes longer than to answer it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        """Know no query."""
        super().__init__(*args, **options)
        self._queries = KnownQueries()

    def known_answer(self, request: Request) -> Response | None:
        """Return the page that was sent before, or one of rows in memory."""
        query_string, fit_id = request.scope["query_string"], request.path_params["fit_id"]
        metrics, pages = services_of(request).metrics, request.app.state.encoded_pages
        stored = metrics.known_last(fit_id)
        if stored is None:
            return None
        page: Response | None = pages.get(fit_id, query_string, stored)
        if page is None:
            query = self._queries.find(query_string)
            page = None if query is None else query.known_answer(metrics, fit_id, stored)
            if page is None:
                return None
            pages.add(fit_id, query_string, stored, page)
        return unless_known(request, page)

    def make_handler(self) -> Handler:
        """Remember the queries that the handler answers."""
        handle = super().make_handler()

        async def remembered(request: Request) -> Response:
            answer = await handle(request)
            self._queries.add(request.scope["query_string"], request.state.metric_query)
            return answer

        return remembered


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
