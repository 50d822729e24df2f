"""The server's settings. The environment is read here and nowhere else."""

import ipaddress
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.config.bounds import GIB, MIB, Bounds

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


class Operation(BaseSettings):
    """How the server is run, and what it does by itself: the settings without the `Bounds`."""

    model_config = SettingsConfigDict(env_prefix="ADJOINT_", frozen=True, extra="forbid", hide_input_in_errors=True)

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address to bind; any but loopback needs a key and allowed hosts.",
    )
    port: int = Field(default=8000, ge=0, le=65535, description="Port to bind; 0 lets the system choose one.")
    data_dir: Path = Field(default=Path("adjoint-data"), description="Folder for the database and the blobs.")
    workers: int = Field(
        default_factory=_usable_cores, ge=1, le=1024, description="Worker processes; by default one for each core."
    )
    api_key: SecretStr | None = Field(
        default=None,
        description="Key of 16 characters or more that allows everything, besides those of `adjoint keys`.",
    )
    api_key_file: Path | None = Field(
        default=None, description="File that holds this key, in the place of ADJOINT_API_KEY."
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("localhost", "127.0.0.1", "[::1]"),
        description="Host names that requests may carry, separated by commas; ports do not matter.",
    )
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Addresses or networks of reverse proxies whose X-Forwarded-For is believed, separated by commas.",
    )
    max_connections: int = Field(
        default=2000,
        ge=1,
        le=100_000,
        description="Most open connections; for one more, one without a request ends, or it is answered 503.",
    )
    header_seconds: float = Field(
        default=10.0, gt=0, le=3600, description="Longest time that the headers of a request may take to come."
    )
    body_seconds: float = Field(
        default=10.0, gt=0, le=3600, description="Head start of a body before it has to come at the least rate."
    )
    body_bytes_per_second: float = Field(
        default=10_000.0, gt=0, description="Least rate at which a body has to come, in bytes a second."
    )
    unread_seconds: float = Field(
        default=30.0, gt=0, le=3600, description="Head start of an answer before it has to be taken at the least rate."
    )
    unread_bytes_per_second: float = Field(
        default=10_000.0, gt=0, description="Least rate at which an answer has to be taken, in bytes a second."
    )
    failed_logins_per_minute: int = Field(
        default=10,
        ge=1,
        le=10_000,
        description="Wrong keys a minute of an address; more are answered 429, right keys as ever.",
    )
    requests_per_second: float = Field(
        default=1000.0, gt=0, le=1_000_000, description="Requests a second that one key may send in the long run."
    )
    requests_burst: int = Field(
        default=2000, ge=1, le=1_000_000, description="Requests that one key may send in one go."
    )
    requests_at_once: int = Field(
        default=256, ge=1, le=1_000_000, description="Requests of one key that are answered at a time."
    )
    max_requests_at_once: int = Field(
        default=512, ge=1, le=100_000, description="Requests that are answered at a time; any more are answered 503."
    )
    max_waiting: int = Field(
        default=1000, ge=1, le=100_000, description="Requests besides that wait for news: long polls and streams."
    )
    max_json_bytes: int = Field(default=4 * MIB, ge=1024, description="Largest JSON body, in bytes.")
    max_upload_bytes: int = Field(default=1 * GIB, ge=1024, description="Largest upload, in bytes.")
    max_expanded_bytes: int = Field(default=4 * GIB, ge=1024, description="Largest upload once unpacked, in bytes.")
    max_rows: int = Field(default=1_000_000_000, ge=1, description="Most rows in a dataset.")
    max_columns: int = Field(default=10_000, ge=1, description="Most columns in a dataset.")
    max_queue: int = Field(default=100_000, ge=1, description="Most fits waiting at a time.")
    tenant_queue: int = Field(default=10_000, ge=1, description="Most fits of one tenant waiting at a time.")
    tenant_running: int | None = Field(
        default=None, ge=1, description="Most fits of one tenant running at a time; by default all that can run."
    )
    tenant_sessions: int = Field(default=100, ge=1, description="Most open sessions of one tenant.")
    tenant_storage_bytes: int | None = Field(
        default=10 * GIB,
        ge=1,
        description="Most bytes of datasets, checkpoints and captured gradients that one tenant may store.",
    )
    session_workers: int = Field(default=8, ge=1, le=1024, description="Processes of sessions at a time.")
    max_sessions: int = Field(default=1000, ge=1, description="Most open sessions.")
    session_idle_seconds: float = Field(
        default=300.0, gt=0, le=86_400, description="Time without steps after which a session's process rests."
    )
    step_seconds: float = Field(
        default=600.0, gt=0, le=86_400, description="Longest time that a step of a session may take."
    )
    max_step_bytes: int = Field(default=256 * MIB, ge=1024, description="Largest binary body of a step, in bytes.")
    compute_workers: int = Field(
        default=2, ge=1, le=64, description="Processes that predict and compute for requests; one is for predictions."
    )
    compute_seconds: float = Field(
        default=60.0, gt=0, le=3600, description="Longest time that a prediction or computation may take."
    )
    compute_operations: int = Field(
        default=10**12, ge=1, description="Most arithmetic operations of a prediction, by an estimate."
    )
    max_answer_bytes: int = Field(
        default=1 * GIB, ge=1024, description="Largest answer of a prediction or computation, in bytes."
    )
    fair_share_label: str = Field(
        default="team",
        pattern=r"^[A-Za-z0-9_.\-/]{1,64}$",
        description="Label by whose values fits of one priority take turns.",
    )
    gradients_max_bytes: int = Field(
        default=1 * GIB, ge=0, description="Most bytes of captured gradients that a fit may ask for."
    )
    memory_budget_bytes: int | None = Field(
        default=None,
        ge=1,
        description="Memory for all processes of fits, sessions and computations together; by default 70 % of all.",
    )
    fit_memory_bytes: int | None = Field(
        default=None,
        ge=1,
        description="Most memory that a fit, session or computation may ask for; by default all of that.",
    )
    metrics_flush_seconds: float = Field(
        default=0.1, gt=0, le=60, description="How long metric rows may wait to be stored."
    )
    event_heartbeat_seconds: float = Field(
        default=15.0, gt=0, le=300, description="Silence after which a stream says so."
    )
    drain_seconds: float = Field(
        default=5.0, ge=0, le=600, description="Time that running fits have to stop at shutdown."
    )
    lease_seconds: float = Field(
        default=30.0, ge=3, le=3600, description="Silence after which a fit's process is taken for stalled and killed."
    )
    checkpoint_seconds: float = Field(
        default=30.0, gt=0, le=86_400, description="Longest time from one checkpoint to the next, if they are cheap."
    )
    attempts_max: int = Field(default=4, ge=1, le=1000, description="Processes a fit may lose before it fails.")
    storage_min_free_bytes: int = Field(
        default=64 * MIB, ge=0, description="Free disk space below which writes are refused."
    )
    storage_quota_bytes: int | None = Field(
        default=None, ge=1, description="Most bytes that datasets and checkpoints may take; by default the disk's."
    )
    kill_at_op: int | None = Field(
        default=None, ge=1, description="For tests: the server is killed before this operation on its disk."
    )
    fail_at_op: int | None = Field(
        default=None, ge=1, description="For tests: this operation on the server's disk fails."
    )
    kill_worker_at_op: int | None = Field(
        default=None, ge=1, description="For tests: a fit's first process is killed before this operation on the disk."
    )
    adopt_empty: bool = Field(
        default=False,
        description="Start with an empty database beside stored files; those go to quarantine. For one start.",
    )
    quarantine_days: float = Field(
        default=30.0,
        ge=0,
        le=36_500,
        description="Days after which stored files are deleted that a start found nothing to refer to; 0: at once.",
    )
    retention_days: float | None = Field(
        default=None, gt=0, description="Days after which a fit that has ended is deleted; by default none is."
    )
    retention_fits: int | None = Field(
        default=None, ge=0, description="Fits that are kept of those that have ended, the newest; by default all."
    )
    audit_entries: int = Field(
        default=100_000, ge=10, description="Entries of the audit trail in the database; older ones leave for files."
    )
    audit_files: int = Field(
        default=100, ge=0, description="Files of older entries that are kept, each of up to 10,000; the oldest go."
    )
    housekeeping_seconds: float = Field(
        default=3600.0, gt=0, le=86400, description="How often what is too old is looked for."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe level logged."
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
    def _strangers_need_names(self) -> Self:
        named = "allowed_hosts" in self.model_fields_set and bool(self.allowed_hosts)
        if not named and not is_loopback(self.host):
            raise ValueError(
                f"the server refuses another address without names: host is {self.host!r}; set ADJOINT_ALLOWED_HOSTS "
                "to the names that clients use, and a key (ADJOINT_API_KEY, or `adjoint keys create`), or bind "
                "127.0.0.1"
            )
        return self


class Settings(Bounds, Operation):
    """Everything that can be set, by argument or by the environment variable `ADJOINT_<NAME>`."""
