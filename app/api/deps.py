"""What handlers are given: the use cases, pages, ids and headers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from anyio import CapacityLimiter
from fastapi import Depends, Header, Path, Query, Request
from pydantic import AfterValidator

from app.config.settings import Settings
from app.domain.errors import Finding, Invalid, NotFound
from app.domain.ids import is_id
from app.service.admin.audit import AuditTrail
from app.service.admin.backup import Backups
from app.service.admin.keys import Keys
from app.service.admin.system import System
from app.service.fits.bundles import Bundles
from app.service.fits.control import FitControl
from app.service.fits.event_log import Events
from app.service.fits.fits import Fits
from app.service.fits.gradients import Gradients
from app.service.fits.metrics import Metrics
from app.service.fits.predictions import Predictions
from app.service.fits.replays import Replays
from app.service.fits.revision import FitRevision
from app.service.resources.checkpoints import Checkpoints
from app.service.resources.datasets import Datasets
from app.service.resources.derivations import Derivations
from app.service.resources.exports import Exports
from app.service.resources.graphs import Diagnostics, Graphs
from app.service.resources.idempotency import Idempotency
from app.service.resources.profiles import Profiles
from app.service.resources.workers import ComputeService
from app.service.sessions.sessions import Sessions
from app.store.pages import DEFAULT_LIMIT, PageRequest

LIMIT_MAX = 1000


@dataclass(frozen=True, slots=True)
class Services:
    """All use cases, and the settings."""

    settings: Settings
    graphs: Graphs
    diagnostics: Diagnostics
    computing: ComputeService
    datasets: Datasets
    derivations: Derivations
    exports: Exports
    profiles: Profiles
    fits: Fits
    fit_control: FitControl
    fit_revision: FitRevision
    metrics: Metrics
    events: Events
    checkpoints: Checkpoints
    predictions: Predictions
    bundles: Bundles
    replays: Replays
    gradients: Gradients
    idempotency: Idempotency
    sessions: Sessions
    backups: Backups
    keys: Keys
    audit: AuditTrail
    system: System


def services_of(request: Request) -> Services:
    """Return the services of the app that the request came to."""
    services: Services = request.app.state.services
    return services


def _service(name: str) -> Any:
    # Asynchronous, since FastAPI runs a synchronous dependency in a thread.
    async def pick(request: Request) -> Any:
        return getattr(services_of(request), name)

    return Depends(pick)


async def _page(
    request: Request,
    limit: Annotated[
        int, Query(ge=1, le=LIMIT_MAX, description="Maximum number of entries in the page.")
    ] = DEFAULT_LIMIT,
    cursor: Annotated[
        str | None, Query(description="`next_cursor` of the previous page; by default the first page.")
    ] = None,
    order: Annotated[
        Literal["asc", "desc"],
        Query(description="Direction of the order; `desc` (the default): newest or highest first."),
    ] = "desc",
) -> PageRequest:
    most = services_of(request).settings.max_page
    if limit > most and "limit" in request.query_params:
        detail = f"query parameter: a page of this server has {most} entries at most; follow next_cursor for more"
        raise Invalid(detail, code="out_of_range", findings=[Finding("/limit", "out_of_range", detail)])
    return PageRequest(min(limit, most), cursor, order)


async def _slow(request: Request) -> CapacityLimiter:
    limiter: CapacityLimiter = request.app.state.slow
    return limiter


def _known_as(prefix: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not is_id(prefix, text):
            raise NotFound(f"there is nothing here: an id of this kind is {prefix}_ and 26 characters")
        return text

    return check


def _id(prefix: str) -> Any:
    return Annotated[str, Path(description=f"Id: `{prefix}_` and 26 characters."), AfterValidator(_known_as(prefix))]


GraphsDep = Annotated[Graphs, _service("graphs")]
DiagnosticsDep = Annotated[Diagnostics, _service("diagnostics")]
DatasetsDep = Annotated[Datasets, _service("datasets")]
FitsDep = Annotated[Fits, _service("fits")]
FitControlDep = Annotated[FitControl, _service("fit_control")]
FitRevisionDep = Annotated[FitRevision, _service("fit_revision")]
MetricsDep = Annotated[Metrics, _service("metrics")]
EventsDep = Annotated[Events, _service("events")]
CheckpointsDep = Annotated[Checkpoints, _service("checkpoints")]
PredictionsDep = Annotated[Predictions, _service("predictions")]
BackupsDep = Annotated[Backups, _service("backups")]
BundlesDep = Annotated[Bundles, _service("bundles")]
ReplaysDep = Annotated[Replays, _service("replays")]
GradientsDep = Annotated[Gradients, _service("gradients")]
SessionsDep = Annotated[Sessions, _service("sessions")]
KeysDep = Annotated[Keys, _service("keys")]
AuditDep = Annotated[AuditTrail, _service("audit")]
SystemDep = Annotated[System, _service("system")]
DerivationsDep = Annotated[Derivations, _service("derivations")]
ExportsDep = Annotated[Exports, _service("exports")]
ProfilesDep = Annotated[Profiles, _service("profiles")]
SettingsDep = Annotated[Settings, _service("settings")]

SlowDep = Annotated[CapacityLimiter, Depends(_slow)]
"""Bounds work that takes long: it waits without a thread, so that the threads are left to quick requests."""

PageDep = Annotated[PageRequest, Depends(_page)]
IfNoneMatch = Annotated[
    str | None, Header(description="ETag of the client's copy; the response is 304 if it is current.")
]
IfMatch = Annotated[
    str | None,
    Header(description="ETag of the version that the change is based on; the response is 412 if it is outdated."),
]

GraphId = _id("graph")
DatasetId = _id("ds")
FitId = _id("fit")
CheckpointId = _id("ckpt")
SessionId = _id("sess")
KeyId = _id("key")
