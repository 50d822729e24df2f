"""Where fits run: in processes of this machine, or on the nodes of a Ray cluster."""

from pathlib import Path

from app.config.settings import Settings
from app.domain.clock import Clock
from app.runner.local import LocalRunner
from app.runner.port import Runner
from app.store.unit_of_work import Store


def opened_runner(settings: Settings, store: Store, clock: Clock, staging: Path) -> Runner:
    """Return what ADJOINT_RUNNER names; RayUnusable if that is Ray, and its cluster cannot be used."""
    local = LocalRunner(clock, settings.lease_seconds, settings.log_format)
    if settings.runner == "local" or settings.workers == 0:  # one of several servers, which runs no fits
        return local
    from app.runner.cluster.protocol import Connect
    from app.runner.cluster.runner import RayRunner

    assert settings.ray_address is not None  # the settings see to that
    with store.read() as work:
        own = work.identity.get()
    terms = Connect(
        address=settings.ray_address,
        node_address=settings.ray_node_address,
        namespace=f"adjoint-{own}",
        folder=None if settings.ray_folder is None else str(settings.ray_folder),
        blob_url=None if settings.blob_url is None else settings.blob_url.get_secret_value(),
        cache_bytes=settings.blob_cache_bytes,
        lease_seconds=settings.lease_seconds,
    )
    runner = RayRunner(clock, local, terms, settings.log_format, str(staging))
    runner.open()
    return runner
