"""Routes about the server itself, and the metrics that Prometheus scrapes."""

from collections.abc import Iterator

from fastapi import Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.api.deps import SystemDep, services_of
from app.api.encoded import EncodedAnswers
from app.api.openapi_parts import text_answer
from app.api.routing import MemoryRoute, router
from app.api.schemas.system import Readiness, SystemOverview
from app.config.settings import Settings
from app.http.problems import Status
from app.http.request_scope import decision_of
from app.http.responses import JsonResponse, tagged, unless_known
from app.service.admin.quarantine import Quarantine
from app.service.admin.system import Overview, System
from app.service.fits.retention import Retention
from app.service.resources.blobs import Integrity

routes = router("system")

ALIVE = tagged(Status(status="ok").model_dump_json().encode())
READY = tagged(Status(status="ready").model_dump_json().encode())


class HealthRoute(MemoryRoute):
    """The route of liveness."""

    def known_answer(self, request: Request) -> Response | None:
        """Answer at once: that this runs is what is asked."""
        return None if request.scope["query_string"] else unless_known(request, ALIVE)


async def check_health() -> Response:
    """Check that the server is alive.

    Returns 200 as long as the process answers requests. It needs no API key and gives no detail.
    """
    return ALIVE


routes.add_api_route("/healthz", check_health, response_model=Status, route_class_override=HealthRoute)


class ReadinessRoute(MemoryRoute):
    """The route of readiness. That the server is ready counts for a moment; that it is not is found out each time."""

    def known_answer(self, request: Request) -> Response | None:
        """Answer that one server alone is ready, if that was found a moment ago."""
        system = services_of(request).system
        if request.scope["query_string"] or system.server_id is not None or not system.is_known_ready():
            return None
        return unless_known(request, READY)


def check_readiness(request: Request, system: SystemDep) -> Response:
    """Check that the server is ready.

    Returns 200 if the server accepts new work and can process it, else 503. It needs no API key; the reason, and which
    of several servers this is, are given only to callers that send one, if the server has keys.
    """
    decision = decision_of(request.scope)
    if decision is not None and decision.is_anonymous:
        system.check_ready_for_anyone()
        return READY
    system.check_ready()
    if system.server_id is None:
        return READY
    return JsonResponse(Readiness.of(system.server_id, system.servers()))


routes.add_api_route("/readyz", check_readiness, response_model=Readiness, route_class_override=ReadinessRoute)


@routes.get(
    "/metrics", response_class=Response, responses=text_answer("text/plain", "Metrics in the format of Prometheus.")
)
def scrape_metrics(request: Request) -> Response:
    """Get Prometheus metrics.

    Returns counters, gauges and histograms of requests, fits and stored files in the Prometheus text format.
    """
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)


@routes.get("/openapi.json", include_in_schema=False)
def get_contract(request: Request) -> Response:
    """Return the contract of this interface. In a thread: putting it together takes a second, once."""
    return JsonResponse(request.app.openapi())


class SystemRoute(MemoryRoute):
    """The route of the overview, which is gathered about once a second."""

    def known_answer(self, request: Request) -> Response | None:
        """Answer with the overview that was gathered last, while it counts."""
        services = services_of(request)
        overview = None if request.scope["query_string"] else services.system.known_overview()
        return None if overview is None else unless_known(request, _encode_overview(request, overview))


def _encode_overview(request: Request, overview: Overview) -> Response:
    encoded: EncodedAnswers[Overview] = request.app.state.encoded_overviews
    settings = services_of(request).settings
    return encoded.of(str(overview.tenant.name), overview, lambda: tagged(_json(overview, settings)))


def _json(overview: Overview, settings: Settings) -> bytes:
    return SystemOverview.showing(overview, settings).model_dump_json().encode()


def get_system(request: Request, system: SystemDep) -> Response:
    """Get the state of the server.

    Returns versions, numerics, the queue, worker processes and limits.
    """
    return _encode_overview(request, system.overview())


routes.add_api_route("/v1/system", get_system, response_model=SystemOverview, route_class_override=SystemRoute)


DAMAGED = "Stored files that are known to be missing or damaged."
FOUND = "Stored files that were found to be missing or damaged."
QUARANTINED = "Bytes of stored files that nothing refers to, until they are deleted."


class FitMetrics(Collector):
    """How many fits are in each state, how many were deleted by retention, and how many stored files are damaged."""

    def __init__(self, system: System, retention: Retention, integrity: Integrity, quarantine: Quarantine) -> None:
        self._system = system
        self._retention = retention
        self._integrity = integrity
        self._quarantine = quarantine

    def describe(self) -> Iterator[Metric]:
        """Name the metrics without counting anything."""
        yield GaugeMetricFamily("adjoint_fits", "Fits by state.", labels=["state"])
        yield CounterMetricFamily("adjoint_fits_deleted", "Fits that retention deleted.")
        yield GaugeMetricFamily("adjoint_damaged_blobs", DAMAGED)
        yield CounterMetricFamily("adjoint_damaged_blobs_found", FOUND)
        yield GaugeMetricFamily("adjoint_quarantine_bytes", QUARANTINED)

    def collect(self) -> Iterator[Metric]:
        """Count."""
        fits = GaugeMetricFamily("adjoint_fits", "Fits by state.", labels=["state"])
        for state, count in self._system.counts().items():
            fits.add_metric([state], count)
        yield fits
        yield CounterMetricFamily("adjoint_fits_deleted", "Fits that retention deleted.", self._retention.deleted)
        yield GaugeMetricFamily("adjoint_damaged_blobs", DAMAGED, self._integrity.marked())
        yield CounterMetricFamily("adjoint_damaged_blobs_found", FOUND, self._integrity.found)
        yield GaugeMetricFamily("adjoint_quarantine_bytes", QUARANTINED, self._quarantine.size()[1])
