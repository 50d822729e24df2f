"""What is known of every request: its id, its place in the log, and its share of the metrics."""

import logging
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.request_scope import HEADER, assign_request_id, request_id_of

LOGGER = logging.getLogger("adjoint.access")
UNMATCHED = "unmatched"
REQUEST_ID = HEADER.lower().encode()
NOSNIFF = (b"x-content-type-options", b"nosniff")
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class RequestMetrics:
    """Counts of requests and their durations, by method and route template; ids never become labels."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("method", "route")
        self.count = Counter(
            "adjoint_http_requests", "Requests that were answered.", (*labels, "status"), registry=registry
        )
        self.seconds = Histogram(
            "adjoint_http_request_seconds",
            "From request to complete answer.",
            labels,
            buckets=BUCKETS,
            registry=registry,
        )
        self.open = Gauge("adjoint_http_requests_open", "Requests that are being answered.", registry=registry)
        self._counts: dict[tuple[str, str, int], Counter] = {}
        self._seconds: dict[tuple[str, str], Histogram] = {}

    def note(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request that was answered, and write it to the log."""
        template = getattr(scope.get("route"), "path", UNMATCHED)
        method = scope["method"] if template != UNMATCHED else "other"
        self._count(method, template, status, seconds)
        if LOGGER.isEnabledFor(logging.INFO):
            LOGGER.info(
                "request",
                extra={
                    "request_id": request_id_of(scope),
                    "method": scope["method"],
                    "route": template,
                    "status": status,
                    "seconds": round(seconds, 6),
                },
            )

    def _count(self, method: str, template: str, status: int, seconds: float) -> None:
        # Routes and statuses are few, and looking up a child by its labels costs more than counting.
        count = self._counts.get((method, template, status))
        if count is None:
            count = self._counts[method, template, status] = self.count.labels(method, template, str(status))
        duration = self._seconds.get((method, template))
        if duration is None:
            duration = self._seconds[method, template] = self.seconds.labels(method, template)
        count.inc()
        duration.observe(seconds)


class TelemetryMiddleware:
    """Gives every request an id, and writes down how it went. Outermost, so that every answer passes through it."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = assign_request_id(scope)
        status = 500

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                others = (pair for pair in message["headers"] if pair[0] != REQUEST_ID)
                message["headers"] = [*others, (REQUEST_ID, request_id.encode()), NOSNIFF]
            await send(message)

        started = perf_counter()
        self._metrics.open.inc()
        try:
            await self._app(scope, receive, send_on)
        finally:
            self._metrics.open.dec()
            self._metrics.note(scope, status, perf_counter() - started)
