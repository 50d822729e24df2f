"""The application: routers, error rendering, lifespan, housekeeping; and how to run it."""

import asyncio
import gc
import inspect
import logging
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from anyio import CapacityLimiter
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from starlette.types import Lifespan

from app.api import (
    administration,
    checkpoints,
    dataset_derivations,
    datasets,
    diagnostics,
    documentation,
    events,
    fits,
    gradients,
    graphs,
    metrics,
    ops,
    predictions,
    session_static,
    session_tensors,
    session_training,
    sessions,
    system,
)
from app.api.diagnostics import THREADS
from app.api.encoded import EncodedAnswers
from app.api.fits import MAX_ENCODED
from app.api.metrics import EncodedPages
from app.api.openapi import check_operation_ids, openapi
from app.api.routing import MemoryRoute
from app.api.system import FitMetrics
from app.config.settings import Settings, is_loopback, server_version
from app.domain.errors import InsecureBind, RetryLater
from app.http import problems
from app.http.audit import AuditMiddleware
from app.http.authentication import AccessControl, AuthenticationMiddleware
from app.http.client_address import ClientAddressMiddleware
from app.http.direct_answers import DirectAnswers
from app.http.http_protocol import ConnectionLimits
from app.http.load_shedding import DrainMiddleware, OverloadMiddleware
from app.http.router_index import HeadMiddleware, RouterIndex
from app.http.server import bound_socket, serve, url_of
from app.http.telemetry import RequestMetrics, TelemetryMiddleware
from app.http.transport import Pace
from app.main.bootstrap import open_container
from app.main.container import Chore, Container
from app.page import files as page_files
from app.service.admin.system import GATHERED_MAX
from app.system.log import configure_log

_logger = logging.getLogger(__name__)


@asynccontextmanager
async def housekeeping(chores: Sequence[Chore], seconds: float) -> AsyncIterator[None]:
    """Do the chores at once and then every `seconds` for the length of the block."""
    over = asyncio.Event()
    task = asyncio.create_task(_keep_house(chores, seconds, over))
    try:
        yield
    finally:
        # Not cancelled: the thread of a chore would work on while what it works with is closed.
        over.set()
        await task


async def _keep_house(chores: Sequence[Chore], seconds: float, over: asyncio.Event) -> None:
    while not over.is_set():
        for chore in chores:
            try:
                if inspect.iscoroutinefunction(chore):
                    await chore()
                else:
                    await asyncio.to_thread(chore)
            except RetryLater as error:  # the database is away, for example
                _logger.warning("housekeeping is postponed: %s", error.detail)
            except Exception:
                # It comes round again, and nothing else must end for it.
                _logger.exception("housekeeping met a fault and goes on")
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await over.wait()


TITLE = "Adjoint"
DESCRIPTION = "A training server: post graphs and datasets, start fits, follow their losses, fetch checkpoints."
# Routes of one noun are tried in this order: the steps of sessions first.
ROUTERS: tuple[APIRouter, ...] = (
    session_training.routes,
    session_tensors.routes,
    session_static.routes,
    sessions.routes,
    fits.routes,
    metrics.routes,
    events.routes,
    graphs.routes,
    diagnostics.routes,
    dataset_derivations.routes,
    datasets.routes,
    predictions.routes,
    checkpoints.routes,
    gradients.routes,
    administration.routes,
    administration.audit_routes,
    administration.backup_routes,
    ops.routes,
    system.routes,
    documentation.routes,
)
SLOW_MAX = 4
EXPIRY_SECONDS = 5.0
"""How often sessions are looked for that were not used for too long, the last uses of keys are written down, and the
audit trail is kept within bounds.
"""

SWITCH_SECONDS = 0.0005
"""How long a thread may compute before the event loop goes on, which waits for a turn after each call to the system."""

EXIT_OK = 0
EXIT_FAILED = 1


def create_app(container: Container) -> FastAPI:
    """Return the application over a server's parts; while its lifespan lasts, fits are run."""
    registry = CollectorRegistry()
    access, measured = AccessControl(container.settings, container.ring), RequestMetrics(registry)
    routers = (*ROUTERS, page_files.routes) if container.settings.page else ROUTERS
    app = _bare_app(partial(_lifespan, container), routers)
    app.state.services = container.services
    app.state.registry = registry
    app.state.slow = CapacityLimiter(SLOW_MAX)
    app.state.computing = CapacityLimiter(THREADS)
    app.state.encoded_fits = EncodedAnswers(MAX_ENCODED)
    app.state.encoded_overviews = EncodedAnswers(GATHERED_MAX)
    app.state.encoded_pages = EncodedPages()
    problems.install(app)
    # The last one added is the outermost.
    if container.membership is not None:
        from app.http.forwarding import ForwardingMiddleware

        secret, find_place = container.membership.secret, container.membership.find_place
        app.add_middleware(ForwardingMiddleware, secret=secret, find_place=find_place)
    app.add_middleware(HeadMiddleware)
    app.add_middleware(DrainMiddleware, notifier=container.notifier)
    app.add_middleware(
        OverloadMiddleware, working=container.settings.max_requests_at_once, waiting=container.settings.max_waiting
    )
    app.add_middleware(AuthenticationMiddleware, access=access)
    app.add_middleware(AuditMiddleware, trail=container.services.audit)
    app.add_middleware(ClientAddressMiddleware, proxies=container.settings.trusted_proxies)
    app.add_middleware(TelemetryMiddleware, metrics=measured)
    known = [route for route in app.state.routes if isinstance(route, MemoryRoute)]
    app.state.direct = DirectAnswers(app, known, access, measured)
    _collect(registry, container)
    return app


def openapi_document() -> dict[str, Any]:
    """Return the contract, without a server behind it."""
    return openapi(_bare_app(None))


def run(settings: Settings, on_ready: Callable[[str], None]) -> int:
    """Serve until a signal ends it, and return the exit status.

    Calls `on_ready` with the server's URL when requests are answered and fits are run. Raises DataDirectoryInUse or
    DatabaseUnusable (ApiError) if the data directory, OSError if the address cannot be used, and
    InsecureBind (ApiError) if other machines could use the server without a key.
    """
    configure_log(settings.log_level, settings.log_format)
    with open_container(settings) as container:
        _check_bind_address(container)
        with bound_socket(settings.host, settings.port) as listener:
            app = create_app(container)
            container.stand(url_of(listener))
            pace = Pace(settings.unread_seconds, settings.unread_bytes_per_second)
            terms = ConnectionLimits(
                settings.header_seconds,
                settings.max_header_bytes,
                pace,
                settings.max_connections,
                settings.max_headers,
            )
            _set_up_interpreter()
            began = serve(app, listener, terms, lambda: on_ready(url_of(listener)), container.drain, app.state.direct)
    return EXIT_OK if began else EXIT_FAILED


def _set_up_interpreter() -> None:
    """Keep the event loop responsive beside threads that compute."""
    sys.setswitchinterval(SWITCH_SECONDS)
    # Everything that is loaded stays: a full collection would visit it in a tenth of a second, with all threads halted.
    gc.collect()
    gc.freeze()


def _check_bind_address(container: Container) -> None:
    host = container.settings.host
    if not container.ring.closed and not is_loopback(host):
        raise InsecureBind(
            f"the server refuses another address without a key: host is {host!r}; set ADJOINT_API_KEY, make a key in "
            "its data directory with `adjoint keys create`, or bind 127.0.0.1"
        )


def _bare_app(lifespan: Lifespan[FastAPI] | None, routers: Sequence[APIRouter] = ROUTERS) -> FastAPI:
    """Return the routes alone; ValueError if two of them have one name."""
    app = FastAPI(
        title=TITLE,
        description=DESCRIPTION,
        version=server_version(),
        openapi_url=None,  # a route of ours gives it out, tagged as the others are
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    check_operation_ids(routes)
    app.router.routes.append(RouterIndex(routes))
    app.state.routes = routes
    app.openapi = partial(openapi, app)  # type: ignore[method-assign]  # as FastAPI's documentation says to do it
    return app


@asynccontextmanager
async def _lifespan(container: Container, _app: FastAPI) -> AsyncIterator[None]:
    await asyncio.to_thread(container.supervisor.start)
    settings, services = container.settings, container.services
    async with (
        housekeeping(container.rare_chores(), settings.housekeeping_seconds),
        housekeeping(container.frequent_chores(), min(EXPIRY_SECONDS, settings.housekeeping_seconds)),
    ):
        try:
            yield
        finally:
            await asyncio.to_thread(container.drain)
            await asyncio.to_thread(services.backups.end)
            await asyncio.to_thread(services.keys.write_uses)


def _collect(registry: CollectorRegistry, container: Container) -> None:
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    registry.register(
        FitMetrics(container.services.system, container.retention, container.integrity, container.quarantine)
    )
