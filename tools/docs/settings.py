"""The page of settings, grouped by what an operator wants to do."""

from collections.abc import Mapping
from types import MappingProxyType

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from app.config.settings import Settings
from tools.docs.inventory import limits
from tools.docs.markdown import code, page, table

GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Where the server listens and stores": ("host", "port", "page", "data_dir", "log_level", "log_format"),
        "Object storage": ("blob_url", "blob_cache_dir", "blob_cache_bytes", "blob_redirect_seconds"),
        "Ray": ("runner", "ray_address", "ray_node_address", "ray_folder"),
        "PostgreSQL": ("database_url", "database_connections", "database_migrate"),
        "Several servers": ("cluster_secret", "internal_url", "sessions_in_data_dir"),
        "Who may use it": (
            "api_key", "api_key_file", "allowed_hosts", "trusted_proxies", "failed_logins_per_minute", "max_keys",
        ),
        "How much it trains at a time": (
            "workers", "memory_budget_bytes", "fit_memory_bytes", "max_queue", "fair_share_label",
            "compute_workers", "compute_seconds", "compute_operations", "max_answer_bytes",
        ),
        "What one tenant may use": (
            "tenant_queue", "tenant_running", "tenant_sessions", "tenant_storage_bytes",
        ),
        "Sessions": (
            "session_workers", "max_sessions", "session_idle_seconds", "step_seconds", "max_step_bytes",
        ),
        "Recovery and shutdown": (
            "checkpoint_seconds", "lease_seconds", "attempts_max", "retry_seconds", "drain_seconds", "adopt_empty",
            "quarantine_days",
        ),
        "Storage and retention": (
            "storage_min_free_bytes", "storage_quota_bytes", "gradients_max_bytes", "retention_days", "retention_fits",
            "audit_entries", "audit_files", "idempotency_days", "housekeeping_seconds", "disk_check_seconds",
        ),
        "Curves and event streams": ("metrics_flush_seconds", "event_heartbeat_seconds"),
        "Request rates": (
            "requests_per_second", "requests_burst", "requests_at_once", "max_requests_at_once", "max_waiting",
            "max_connections",
        ),
        "Slow clients": (
            "header_seconds", "body_seconds", "body_bytes_per_second", "unread_seconds", "unread_bytes_per_second",
        ),
        "Size of requests": (
            "max_headers", "max_header_bytes", "max_uri_bytes", "max_page", "max_json_bytes", "max_json_depth",
            "max_json_fields", "max_text_characters",
        ),
        "Size of uploads": (
            "max_upload_bytes", "max_expanded_bytes", "max_rows", "max_columns", "max_zip_members", "max_zip_ratio",
            "max_record_bytes", "max_classes", "ingest_memory_bytes", "ingest_cpu_seconds",
        ),
        "Size of graphs and fits": (
            "max_graph_nodes", "max_node_inputs", "max_rank", "max_elements", "max_parameter_elements",
            "max_program_characters", "max_epochs", "max_steps",
        ),
        "Fault injection, for tests": ("kill_at_op", "fail_at_op", "kill_worker_at_op"),
    }
)  # fmt: skip
"""Every setting, in exactly one group."""

ABOUT = """Set them in the environment, or as flags of `adjoint serve` (`ADJOINT_MAX_QUEUE` is `--max-queue`).
The server reads them once, at its start. `GET /v1/system` shows the limits in force. The last column says what
happens beyond a limit."""
EXAMPLE = "ADJOINT_PORT=9000 ADJOINT_WORKERS=4 adjoint serve --data-dir /var/lib/adjoint"


def settings_page() -> str:
    """Return the page; ValueError if a setting is in no group, or in two."""
    grouped = [name for names in GROUPS.values() for name in names]
    if sorted(grouped) != sorted(Settings.model_fields):
        odd = set(grouped) ^ set(Settings.model_fields) or {name for name in grouped if grouped.count(name) > 1}
        raise ValueError(f"give each setting one group in tools/docs/settings.py: {', '.join(sorted(odd))}")
    beyond = {limit.name: limit.answer for limit in limits() if not limit.fixed}
    blocks = [ABOUT, code(EXAMPLE, "sh", "not run: starts a server")]
    for title, names in GROUPS.items():
        fields = {name: Settings.model_fields[name] for name in names}
        rows = [_row(name, field, beyond.get(variable(name), "")) for name, field in fields.items()]
        blocks += [f"## {title}", table(("variable", "default", "range", "meaning", "beyond it"), rows)]
    return page("Settings", *blocks)


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"ADJOINT_{name.upper()}"


def _row(name: str, field: FieldInfo, beyond: str) -> tuple[str, ...]:
    return f"`{variable(name)}`", _default(name, field), _range(field), field.description or "", beyond


def _default(name: str, field: FieldInfo) -> str:
    if name == "workers":
        return "cores"
    default = field.get_default()
    if default is None or default == ():
        return "none"
    if isinstance(default, tuple):
        return ", ".join(default)
    return str(default)


def _range(field: FieldInfo) -> str:
    least = next((f"≥ {each.ge}" for each in field.metadata if isinstance(each, Ge)), "")
    above = next((f"> {each.gt}" for each in field.metadata if isinstance(each, Gt)), "")
    most = next((f"≤ {each.le}" for each in field.metadata if isinstance(each, Le)), "")
    below = next((f"< {each.lt}" for each in field.metadata if isinstance(each, Lt)), "")
    return ", ".join(filter(None, (least, above, most, below)))
