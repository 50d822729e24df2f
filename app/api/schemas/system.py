"""The server itself on the wire."""

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field

from app.api.schemas.values import ResourceShape
from app.config.settings import Settings
from app.domain.clock import rfc3339
from app.domain.runtime import allot
from app.domain.servers import ServerStatus
from app.service.admin.system import Overview
from app.service.resources.memory import MemoryConfig


class Blas(ResourceShape):
    """The linear algebra library that NumPy uses."""

    library: str
    core_type: str
    threads: str


class Cores(ResourceShape):
    """The cores that fits can work on."""

    usable: int = Field(description="Number of threads that can run concurrently.")
    cpus: list[int] = Field(description="Numbers of the CPUs that the server may use.")
    quota: float | None = Field(description="CPU quota of the container, in CPUs; null: no limit.")
    threads_per_fit: int = Field(description="Default number of threads in a step of a fit.")


class QueueCounts(ResourceShape):
    """Numbers of queued and running fits."""

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


class Memory(ResourceShape):
    """The memory that the processes of fits, sessions and computations share."""

    budget_bytes: int | None = Field(description="For all of them together; null: not limited.")
    reserved_bytes: int = Field(description="Bytes reserved for running processes, at their peak.")
    fit_max_bytes: int = Field(description="Maximum bytes that one fit, session or computation may reserve.")


class TenantQuotas(ResourceShape):
    """Usage and limits of the tenant of the key."""

    name: str | None = Field(description="Name of the tenant.")
    queued: int
    queued_max: int = Field(description="Most fits that may be queued.")
    running: int
    running_max: int | None = Field(description="null: not limited.")
    sessions: int = Field(description="Open sessions.")
    sessions_max: int = Field(description="Most open sessions.")
    stored_bytes: int = Field(description="Bytes of its datasets, checkpoints and captured gradients.")
    stored_bytes_max: int | None = Field(description="null: not limited.")


class Limits(ResourceShape):
    """Limits of this server."""

    max_json_bytes: int
    max_upload_bytes: int
    max_expanded_bytes: int
    max_rows: int
    max_columns: int
    max_queue: int
    max_sessions: int
    session_workers: int
    max_step_bytes: int
    workers: int
    attempts_max: int
    storage_quota_bytes: int | None = Field(description="Of datasets and checkpoints together; null: the disk's size.")


class Recovery(ResourceShape):
    """Results of the recovery when the server started."""

    at: str
    attempts_lost: int = Field(description="Attempts whose process had exited; their fits were resumed.")
    orphan_blobs: int = Field(description="Files that no record refers to; moved to quarantine.")
    temporary_files: int = Field(description="Unfinished files; deleted.")
    staging_folders: int = Field(description="Folders of processes that have exited; deleted, or in quarantine.")
    session_folders: int = Field(description="Folders of sessions that have ended, deleted; or unknown, in quarantine.")
    damaged_checkpoints: int = Field(description="Checkpoints whose file is missing or has another size.")
    quarantined: int = Field(description="Stored files and folders without references; deleted after some days.")
    returned: int = Field(description="Stored files and folders that were in quarantine and are referred to again.")


class Server(ResourceShape):
    """One of several servers that share a database."""

    id: str
    version: str
    leads: bool = Field(description="Whether it runs the fits and does the housekeeping.")
    heartbeat_seconds: float = Field(description="Time since its last heartbeat, in seconds.")


class Readiness(ResourceShape):
    """A server that accepts work. Where several share a database: which one it is, and which one runs the fits."""

    status: Literal["ready"]
    server: str | None = Field(default=None, description="Id of this server.")
    leader: str | None = Field(default=None, description="Id of the server that runs the fits; null: none at present.")
    leader_heartbeat_seconds: float | None = Field(
        default=None, description="Time since the last heartbeat of that server, in seconds."
    )

    @classmethod
    def of(cls, server: str, servers: Sequence[ServerStatus]) -> Self:
        """Describe one of several servers."""
        leader = next((each for each in servers if each.leads), None)
        if leader is None:
            return cls(status="ready", server=server)
        return cls(status="ready", server=server, leader=leader.id, leader_heartbeat_seconds=leader.heartbeat_seconds)


class SystemOverview(ResourceShape):
    """Versions, space, queue, workers and limits."""

    version: str
    python: str
    numpy: str
    blas: Blas
    fingerprint: dict[str, Any]
    executors: list[str] = Field(description="Available executors, the fastest last.")
    cores: Cores
    data_dir_free_bytes: int
    stored_bytes: int = Field(description="Bytes of datasets and checkpoints.")
    quarantine_bytes: int = Field(description="Bytes of stored files without references, until they are deleted.")
    recovery: Recovery | None
    queue: QueueCounts
    workers: list[Worker]
    memory: Memory
    tenant: TenantQuotas
    limits: Limits
    server: str | None = Field(description="Id of this server, where several share a database; else null.")
    servers: list[Server] = Field(description="The servers that share the database; empty if there is one only.")

    @classmethod
    def showing(cls, overview: Overview, settings: Settings) -> Self:
        """Build from an overview, with the limits of the settings."""
        numerics, found = overview.fingerprint, overview.recovery
        return cls.from_record(
            overview,
            blas=Blas(
                library=str(numerics["blas"]),
                core_type=str(numerics["blas_core"]),
                threads=str(numerics["blas_threads"]),
            ),
            cores=Cores(
                usable=overview.cores,
                cpus=list(overview.cpus),
                quota=overview.cpu_quota,
                threads_per_fit=allot({}, None, cores=overview.cores, workers=max(1, settings.workers)).threads,
            ),
            recovery=found and Recovery.from_record(found, at=rfc3339(found.at)),
            queue=QueueCounts.show(overview),
            workers=[Worker.from_record(each, fit=each.fit_id, session=each.session_id) for each in overview.workers],
            memory=Memory(
                budget_bytes=overview.memory_budget_bytes,
                reserved_bytes=overview.memory_reserved_bytes,
                fit_max_bytes=MemoryConfig(settings.memory_budget_bytes, settings.fit_memory_bytes).most,
            ),
            tenant=TenantQuotas.from_record(
                overview.tenant,
                queued_max=settings.tenant_queue,
                running_max=settings.tenant_running,
                sessions_max=settings.tenant_sessions,
                stored_bytes_max=settings.tenant_storage_bytes,
            ),
            limits=Limits.show(settings),
            servers=[Server.show(each) for each in overview.servers],
        )
