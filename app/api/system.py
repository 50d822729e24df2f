"""Routes about the server itself."""

from fastapi import Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from app.api.deps import SettingsDep, SystemDep
from app.api.openapi_parts import text_answer
from app.api.routing import router
from app.api.schemas.system import SystemOverview
from app.http.problems import Status
from app.http.responses import JsonResponse

routes = router("system")


@routes.get("/healthz", response_model=Status)
async def check_health() -> Response:
    """Answer, which shows that the server lives; needs no key."""
    return JsonResponse(Status(status="ok"))


@routes.get("/readyz", response_model=Status)
def check_readiness(system: SystemDep) -> Response:
    """Answer ok if new work would be accepted and done."""
    system.check_ready()
    return JsonResponse(Status(status="ready"))


@routes.get(
    "/metrics", response_class=Response, responses=text_answer("text/plain", "Metrics in the format of Prometheus.")
)
def scrape_metrics(request: Request) -> Response:
    """Return counts and durations for Prometheus."""
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)


@routes.get("/openapi.json", include_in_schema=False)
def get_contract(request: Request) -> Response:
    """Return the contract of this interface. In a thread: putting it together takes a second, once."""
    return JsonResponse(request.app.openapi())


@routes.get("/v1/system", response_model=SystemOverview)
def get_system(system: SystemDep, settings: SettingsDep) -> Response:
    """Return versions, numerics, queue, workers and limits."""
    return JsonResponse(SystemOverview.of(system.overview(), settings))
