"""The server's settings. The environment is read here and nowhere else."""

import ipaddress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from app.config.blobs import BlobSettings
from app.config.bounds import GIB, MIB, Bounds
from app.config.cluster import ClusterSettings
from app.config.database import DatabaseSettings
from app.config.ray import RaySettings

KEY_CHARACTERS_MIN = 16
KEY_CHARACTERS_MAX = 1024


def _usable_cores() -> int:
    # It takes a while to load, and what only asks a server needs none of it.
    import engine

    return engine.usable_cores()


def is_loopback(host: str) -> bool:
    """Whether only processes of this machine can reach a server bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class ServerSettings(DatabaseSettings, BlobSettings, RaySettings, ClusterSettings):
    """How the server is run, and what it does by itself: the settings without the `Bounds`."""

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address to bind. Any address other than loopback needs an API key and allowed hosts.",
    )
    port: int = Field(default=8000, ge=0, le=65535, description="Port to bind; 0 lets the system choose one.")
    page: bool = Field(
        default=True, description="Serve the web page at `/`; it uses the public API only. `false` removes it."
    )
    data_dir: Path = Field(default=Path("adjoint-data"), description="Folder of the database and the stored files.")
    workers: int = Field(
        default_factory=_usable_cores,
        ge=0,
        le=1024,
        description="Worker processes that run fits; by default one per core. With 0, a server leaves fits to the "
        "other servers of its database.",
    )
    api_key: SecretStr | None = Field(
        default=None,
        description="An API key with every scope, of at least 16 characters, in addition to those of `adjoint keys`.",
    )
    api_key_file: Path | None = Field(
        default=None, description="File that contains this key; used instead of ADJOINT_API_KEY."
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("localhost", "127.0.0.1", "[::1]"),
        description="Host names that requests may use, comma-separated; ports are ignored.",
    )
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Addresses or networks of reverse proxies whose X-Forwarded-For is trusted, comma-separated.",
    )
    max_connections: int = Field(
        default=2000,
        ge=1,
        le=100_000,
        description="Maximum open connections. One more closes an idle connection, or is answered 503.",
    )
    header_seconds: float = Field(
        default=10.0, gt=0, le=3600, description="Time limit for receiving the headers of a request, in seconds."
    )
    body_seconds: float = Field(
        default=10.0, gt=0, le=3600, description="Grace period before the minimum upload rate applies, in seconds."
    )
    body_bytes_per_second: float = Field(
        default=10_000.0, gt=0, description="Minimum upload rate of a request body, in bytes per second."
    )
    unread_seconds: float = Field(
        default=30.0, gt=0, le=3600, description="Grace period before the minimum download rate applies, in seconds."
    )
    unread_bytes_per_second: float = Field(
        default=10_000.0, gt=0, description="Minimum download rate of an answer, in bytes per second."
    )
    failed_logins_per_minute: int = Field(
        default=10,
        ge=1,
        le=10_000,
        description="Failed logins per minute before an address is throttled; valid keys are still accepted.",
    )
    requests_per_second: float = Field(
        default=1000.0, gt=0, le=1_000_000, description="Sustained request rate of one API key, per second."
    )
    requests_burst: int = Field(
        default=2000, ge=1, le=1_000_000, description="Requests that one API key may send in a burst."
    )
    requests_at_once: int = Field(default=256, ge=1, le=1_000_000, description="Concurrent requests of one API key.")
    max_requests_at_once: int = Field(default=1024, ge=1, le=100_000, description="Concurrent requests of all clients.")
    max_waiting: int = Field(
        default=1000, ge=1, le=100_000, description="Additional concurrent long-poll and streaming requests."
    )
    max_json_bytes: int = Field(default=4 * MIB, ge=1024, description="Maximum size of a JSON body, in bytes.")
    max_upload_bytes: int = Field(default=1 * GIB, ge=1024, description="Maximum size of an upload, in bytes.")
    max_expanded_bytes: int = Field(
        default=4 * GIB, ge=1024, description="Maximum size of an upload after decompression, in bytes."
    )
    max_rows: int = Field(default=1_000_000_000, ge=1, description="Maximum number of rows of a dataset.")
    max_columns: int = Field(default=10_000, ge=1, description="Maximum number of columns of a dataset.")
    max_queue: int = Field(default=100_000, ge=1, description="Maximum number of queued fits.")
    tenant_queue: int = Field(default=10_000, ge=1, description="Maximum number of queued fits of one tenant.")
    tenant_running: int | None = Field(
        default=None, ge=1, description="Maximum number of running fits of one tenant; by default not limited."
    )
    tenant_sessions: int = Field(default=100, ge=1, description="Maximum number of open sessions of one tenant.")
    tenant_storage_bytes: int | None = Field(
        default=10 * GIB,
        ge=1,
        description="Storage quota of one tenant for datasets, checkpoints and captured gradients, in bytes.",
    )
    session_workers: int = Field(default=8, ge=1, le=1024, description="Maximum number of session processes.")
    max_sessions: int = Field(default=1000, ge=1, description="Maximum number of open sessions.")
    session_idle_seconds: float = Field(
        default=300.0,
        gt=0,
        le=86_400,
        description="Time without steps after which a session releases its process, in seconds.",
    )
    step_seconds: float = Field(
        default=600.0, gt=0, le=86_400, description="Time limit for a step of a session, in seconds."
    )
    max_step_bytes: int = Field(default=256 * MIB, ge=1024, description="Maximum size of a binary step body, in bytes.")
    compute_workers: int = Field(
        default=2,
        ge=1,
        le=64,
        description="Processes for predictions and computations; one is reserved for predictions.",
    )
    compute_seconds: float = Field(
        default=60.0, gt=0, le=3600, description="Time limit for a prediction or computation, in seconds."
    )
    compute_operations: int = Field(
        default=10**12, ge=1, description="Maximum estimated arithmetic operations of a prediction."
    )
    max_answer_bytes: int = Field(
        default=1 * GIB, ge=1024, description="Maximum size of the answer of a prediction or computation, in bytes."
    )
    fair_share_label: str = Field(
        default="team",
        pattern=r"^[A-Za-z0-9_.\-/]{1,64}$",
        description="Label by whose values fits of one priority take turns.",
    )
    gradients_max_bytes: int = Field(
        default=1 * GIB, ge=0, description="Maximum size of the captured gradients of a fit, in bytes."
    )
    memory_budget_bytes: int | None = Field(
        default=None,
        ge=1,
        description="Memory for all fits, sessions and computations, in bytes; by default 70 % of the machine.",
    )
    fit_memory_bytes: int | None = Field(
        default=None,
        ge=1,
        description="Maximum memory of one fit, session or computation, in bytes; by default the whole budget.",
    )
    metrics_flush_seconds: float = Field(
        default=0.1, gt=0, le=60, description="Maximum delay before metric rows are stored, in seconds."
    )
    event_heartbeat_seconds: float = Field(
        default=15.0, gt=0, le=300, description="Heartbeat interval of event streams, in seconds."
    )
    drain_seconds: float = Field(
        default=5.0,
        ge=0,
        le=600,
        description="Time that running fits have to write a checkpoint at shutdown, in seconds.",
    )
    lease_seconds: float = Field(
        default=30.0,
        ge=3,
        le=3600,
        description="Time without a heartbeat after which a stalled worker process is killed, in seconds.",
    )
    checkpoint_seconds: float = Field(
        default=30.0,
        gt=0,
        le=86_400,
        description="Maximum time between checkpoints, if they are cheap to write, in seconds.",
    )
    attempts_max: int = Field(
        default=4, ge=1, le=1000, description="Attempts of a fit, each in a process of its own, before it fails."
    )
    retry_seconds: float = Field(
        default=1.0,
        gt=0,
        le=60,
        description="Delay before the next attempt of a fit that crashed, five and then 25 times as long after further "
        "crashes in a row; and interval of retries while the database or the disk refuses writes, in seconds.",
    )
    disk_check_seconds: float = Field(
        default=5.0, gt=0, le=3600, description="Interval of the test writes that readiness depends on, in seconds."
    )
    storage_min_free_bytes: int = Field(
        default=64 * MIB, ge=0, description="Free disk space below which writes are refused, in bytes."
    )
    storage_quota_bytes: int | None = Field(
        default=None,
        ge=1,
        description="Storage quota of the server for datasets and checkpoints, in bytes; by default the disk's size.",
    )
    kill_at_op: int | None = Field(
        default=None, ge=1, description="For tests: kill the server before this disk operation."
    )
    fail_at_op: int | None = Field(default=None, ge=1, description="For tests: fail this disk operation of the server.")
    kill_worker_at_op: int | None = Field(
        default=None, ge=1, description="For tests: kill a fit's first process before this disk operation."
    )
    adopt_empty: bool = Field(
        default=False,
        description="Start with an empty database beside stored files, which are quarantined. For a single start.",
    )
    quarantine_days: float = Field(
        default=30.0,
        ge=0,
        le=36_500,
        description="Days before quarantined files are deleted; 0 deletes them at once.",
    )
    retention_days: float | None = Field(
        default=None, gt=0, description="Days after which an ended fit is deleted; by default never."
    )
    retention_fits: int | None = Field(
        default=None, ge=0, description="Number of ended fits to keep, the newest; by default all."
    )
    audit_entries: int = Field(
        default=100_000, ge=10, description="Audit entries kept in the database; older ones move to files."
    )
    audit_files: int = Field(
        default=100, ge=0, description="Audit files kept, of up to 10,000 entries each; the oldest are deleted."
    )
    housekeeping_seconds: float = Field(
        default=3600.0,
        gt=0,
        le=86400,
        description="Interval of housekeeping (retention, quarantine, expiry), in seconds.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Minimum severity of log lines."
    )
    log_format: Literal["auto", "text", "json"] = Field(
        default="auto", description="Format of the log: text, JSON, or (auto) text in a terminal and JSON elsewhere."
    )

    @field_validator("allowed_hosts", "trusted_proxies", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("trusted_proxies", mode="after")
    @classmethod
    def _proxies_are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in value:
            try:
                network = ipaddress.ip_network(proxy)
            except ValueError as error:
                raise ValueError(
                    f"{proxy!r} in ADJOINT_TRUSTED_PROXIES is no address or network, as 10.0.0.2 or 10.0.0.0/24"
                ) from error
            if network.prefixlen == 0:
                raise ValueError(f"{proxy!r} in ADJOINT_TRUSTED_PROXIES is everybody; name the proxies alone")
        return value

    @model_validator(mode="before")
    @classmethod
    def _read_key(cls, values: Any) -> Any:
        file = values.get("api_key_file") if isinstance(values, dict) else None
        if not file:
            return values
        if values.get("api_key"):
            raise ValueError("ADJOINT_API_KEY and ADJOINT_API_KEY_FILE are both set; set one of them")
        try:
            with Path(file).open(encoding="utf-8") as opened:
                key = opened.read(KEY_CHARACTERS_MAX).strip()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            raise ValueError(f"ADJOINT_API_KEY_FILE names a file that cannot be read: {file} ({why})") from error
        if not key:
            raise ValueError(f"ADJOINT_API_KEY_FILE names a file that holds no key: {file}")
        return {**values, "api_key": key}

    @field_validator("api_key", mode="after")
    @classmethod
    def _key_fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        # Compose files pass an unset key on as an empty one.
        if value is None or not value.get_secret_value():
            return None
        key = value.get_secret_value()
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError(
                "the key in ADJOINT_API_KEY or ADJOINT_API_KEY_FILE must be printable ASCII without spaces, "
                "to fit into a header"
            )
        if len(key) < KEY_CHARACTERS_MIN:
            raise ValueError(
                f"the key in ADJOINT_API_KEY or ADJOINT_API_KEY_FILE has {len(key)} characters, and at least "
                f"{KEY_CHARACTERS_MIN} are needed; take a random one, as `openssl rand -hex 32` prints, or set none "
                "and make keys with `adjoint keys create`"
            )
        return value

    @model_validator(mode="after")
    def _servers_share_a_database(self) -> Self:
        if self.cluster_secret is not None and self.database_url is None:
            raise ValueError(
                "ADJOINT_CLUSTER_SECRET is set, and several servers need one PostgreSQL database: set "
                "ADJOINT_DATABASE_URL too"
            )
        if self.workers == 0 and self.cluster_secret is None:
            raise ValueError(
                "ADJOINT_WORKERS is 0, and no other server runs fits; set at least 1, or ADJOINT_CLUSTER_SECRET"
            )
        return self

    @model_validator(mode="after")
    def _strangers_need_names(self) -> Self:
        named = "allowed_hosts" in self.model_fields_set and bool(self.allowed_hosts)
        if not named and not is_loopback(self.host):
            raise ValueError(
                f"the server refuses another address without names: host is {self.host!r}; set ADJOINT_ALLOWED_HOSTS "
                "to the names that clients use, and a key (ADJOINT_API_KEY, or `adjoint keys create`), or bind "
                "127.0.0.1"
            )
        return self


class Settings(Bounds, ServerSettings):
    """Everything that can be set, by argument or by the environment variable `ADJOINT_<NAME>`."""

    @property
    def shares_sessions(self) -> bool:
        """Whether sessions are kept in the database and in object storage, for servers without a common folder."""
        return self.cluster_secret is not None and self.blob_url is not None and not self.sessions_in_data_dir


DISTRIBUTION = "adjoint-server"


def server_version() -> str:
    """Return the version of this server, 0 when it runs from a tree that is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0"
