"""Routes about the server itself, and the metrics that Prometheus scrapes."""

from collections.abc import Iterator

from fastapi import Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.api.deps import SettingsDep, SystemDep
from app.api.openapi_parts import text_answer
from app.api.routing import MemoryRoute, router
from app.api.schemas.system import Readiness, SystemOverview
from app.http.problems import Status
from app.http.request_scope import decision_of
from app.http.responses import JsonResponse, tagged, unless_known
from app.service.admin.quarantine import Quarantine
from app.service.admin.system import System
from app.service.fits.retention import Retention
from app.service.resources.blobs import Integrity

routes = router("system")

ALIVE = tagged(Status(status="ok").model_dump_json().encode())


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


@routes.get("/readyz", response_model=Readiness)
def check_readiness(request: Request, system: SystemDep) -> Response:
    """Check that the server is ready.

    Returns 200 if the server accepts new work and can process it, else 503. It needs no API key; the reason, and which
    of several servers this is, are given only to callers that send one, if the server has keys.
    """
    decision = decision_of(request.scope)
    if decision is not None and decision.is_anonymous:
        system.check_ready_for_anyone()
        return JsonResponse(Status(status="ready"))
    system.check_ready()
    if system.server_id is None:
        return JsonResponse(Status(status="ready"))
    return JsonResponse(Readiness.of(system.server_id, system.servers()))


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


@routes.get("/v1/system", response_model=SystemOverview)
def get_system(system: SystemDep, settings: SettingsDep) -> Response:
    """Get the state of the server.

    Returns versions, numerics, the queue, worker processes and limits.
    """
    return JsonResponse(SystemOverview.showing(system.overview(), settings))


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
