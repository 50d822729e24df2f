"""Routes of journals: server-sent events."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Header, Query, Response
from fastapi.responses import StreamingResponse

from app.api.deps import EventsDep, FitId
from app.api.openapi_parts import text_answer
from app.api.routing import router
from app.service.fits.event_log import Events, StreamOptions, encode_event

routes = router("events")

EVENT_STREAM = "text/event-stream"
RETRY = "retry: 2000\n\n"
HEARTBEAT = ": heartbeat\n\n"
LAST = 2**63 - 1
"""No event has a larger number, and the database has none."""
SECONDS_MAX = 24 * 3600.0
INTERVAL_MAX = 10.0
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


async def _terms(
    after: Annotated[
        int | None, Query(ge=0, description="Number (id) of the last event that the client has received; default none.")
    ] = None,
    max_events: Annotated[
        int | None, Query(ge=1, description="Maximum number of events, after which the stream ends; default unlimited.")
    ] = None,
    timeout: Annotated[
        float | None,
        Query(ge=0, le=SECONDS_MAX, description="Maximum duration of the stream, in seconds; default unlimited."),
    ] = None,
    interval: Annotated[
        float, Query(ge=0, le=INTERVAL_MAX, description="Minimum time between two deliveries of events, in seconds.")
    ] = 0.0,
    metrics: Annotated[bool, Query(description="Whether to send metric events; all others are few.")] = True,
    timestamps: Annotated[
        bool, Query(description="Add the time at which it was stored to the data of each event: at, RFC 3339 in UTC.")
    ] = False,
    last_event_id: Annotated[int | None, Header(ge=0, description="As `after`; browsers send it.")] = None,
) -> StreamOptions:
    start = (after if last_event_id is None else last_event_id) or 0
    return StreamOptions(min(start, LAST), max_events, timeout, interval, metrics, timestamps)


@routes.get(
    "/v1/fits/{fit_id}/events",
    response_class=StreamingResponse,
    responses=text_answer(EVENT_STREAM, "Events named metric, state, checkpoint, log and end, numbered by id."),
)
async def stream_events(fit_id: FitId, events: EventsDep, terms: Annotated[StreamOptions, Depends(_terms)]) -> Response:
    """Stream the events of a fit.

    Sends the events of a fit as server-sent events until it ends. A client resumes with `Last-Event-ID` or `after`;
    comments keep an idle connection open.
    """
    await asyncio.to_thread(events.check, fit_id, terms.after)
    return StreamingResponse(_written(events, fit_id, terms), headers=HEADERS, media_type=EVENT_STREAM)


async def _written(events: Events, fit_id: str, terms: StreamOptions) -> AsyncIterator[str]:
    yield RETRY
    async for several in events.stream(fit_id, terms):
        yield "".join(encode_event(event, timestamps=terms.timestamps) for event in several) or HEARTBEAT
