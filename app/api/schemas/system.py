"""The server itself on the wire."""

from typing import Any

from app.api.schemas.shapes import ResourceShape
from app.service.system import Overview
from app.settings import Settings


class Blas(ResourceShape):
    """The linear algebra library that NumPy uses."""

    library: str
    core_type: str
    threads: str


class QueueCounts(ResourceShape):
    """How many fits wait, and how many are worked on."""

    queued: int
    running: int


class Worker(ResourceShape):
    """A worker process."""

    pid: int
    fit: str | None
    session: str | None
    attempt: int
    state: str
    rss_bytes: int


class Limits(ResourceShape):
    """What this server takes at most."""

    max_json_bytes: int
    max_upload_bytes: int
    max_expanded_bytes: int
    max_rows: int
    max_columns: int
    max_queue: int
    workers: int
    attempts_max: int


class SystemOverview(ResourceShape):
    """Versions, space, queue, workers and limits."""

    version: str
    python: str
    numpy: str
    blas: Blas
    fingerprint: dict[str, Any]
    executors: list[str]
    data_dir_free_bytes: int
    queue: QueueCounts
    workers: list[Worker]
    limits: Limits

    @classmethod
    def of(cls, overview: Overview, settings: Settings) -> "SystemOverview":
        """Show an overview, with the limits out of the settings."""
        numerics = overview.fingerprint
        return cls(
            version=overview.version,
            python=overview.python,
            numpy=overview.numpy,
            blas=Blas(
                library=str(numerics["blas"]),
                core_type=str(numerics["blas_core"]),
                threads=str(numerics["blas_threads"]),
            ),
            fingerprint=dict(numerics),
            executors=[str(numerics["executor"])],
            data_dir_free_bytes=overview.data_dir_free_bytes,
            queue=QueueCounts(queued=overview.queued, running=overview.running),
            workers=[
                Worker(
                    pid=worker.pid,
                    fit=worker.fit_id,
                    session=None,
                    attempt=worker.attempt,
                    state=worker.state,
                    rss_bytes=worker.rss_bytes,
                )
                for worker in overview.workers
            ],
            limits=Limits(**{name: getattr(settings, name) for name in Limits.model_fields}),
        )
