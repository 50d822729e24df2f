"""Every error code and limit, as the code has them; the meaning of a code is kept from its page."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from annotated_types import Ge

from app.config.bounds import Bounds
from app.config.settings import Settings
from app.ingest.limits import IngestLimits
from app.main.limits import graph_limits, ingest_limits
from engine.graph.limits import LIMITS, GraphLimits
from tools.docs.markdown import page, table

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "reference"
CALLS: Mapping[str, int] = MappingProxyType(
    {"Finding": 1, "Failed": 0, "Died": 0, "PydanticCustomError": 0, "IngestError": 0}
)
"""Classes that take a code, and at which place; of functions it follows from their parameters."""
BY_PHRASE: Mapping[str, str] = MappingProxyType({"method_not_allowed": "405"})
"""Codes that are made from a status, for what no route of ours answers."""
IN_ERRORS, OF_A_FIT, OF_THE_ENGINE = "in `errors`", "of a fit or session", "of the engine"
UNSAID = "to be described"
ABOUT_ERRORS = """Errors are `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail`, `code`,
`request_id`, and `errors`, a list of `{pointer, code, detail}` with a JSON pointer into the request; faults of a
program also have `line` and `column`, counted from 1. The column
*status* says where a code appears: as the status of an answer, in `errors`, as the error of a fit or session,
or raised by the engine in a Python process."""
ABOUT_LIMITS = """Every input is bounded; exceeding a limit returns 4xx with an error code and JSON pointer.
Most limits are [settings](settings.md). Those below are fixed."""


@dataclass(frozen=True)
class Limit:
    """A limit as a row of the table: what it is of, where it is set, what exceeding it is answered, and its test.

    `fixed` says why it is no setting; that of a setting is empty.
    """

    name: str
    default: str
    place: str
    answer: str
    test: str
    fixed: str = ""


_COMPUTING = "tests/security/test_computing.py"
_BOUNDED = "tests/app/api/test_bounds.py"
_SETTINGS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "max_connections": ("503 `too_many_connections`", "tests/security/test_floods.py"),
        "header_seconds": ("the connection ends", "tests/security/test_slow_clients.py"),
        "body_seconds": ("408 `request_timeout`", "tests/security/test_slow_clients.py"),
        "body_bytes_per_second": ("408 `request_timeout`", "tests/security/test_slow_clients.py"),
        "unread_seconds": ("the connection ends", "tests/security/test_slow_clients.py"),
        "failed_logins_per_minute": ("429 `too_many_failed_logins`", "tests/app/api/test_access.py"),
        "requests_per_second": ("429 `rate_limited`", "tests/app/http/test_rate_limit.py"),
        "requests_burst": ("429 `rate_limited`", "tests/app/http/test_rate_limit.py"),
        "requests_at_once": ("429 `too_many_at_once`", "tests/app/http/test_rate_limit.py"),
        "unread_bytes_per_second": ("the connection ends", "tests/security/test_slow_clients.py"),
        "max_requests_at_once": ("503 `overloaded`", "tests/app/http/test_load_shedding.py"),
        "max_waiting": ("503 `overloaded`", "tests/app/http/test_load_shedding.py"),
        "max_json_bytes": ("413 `too_large`", _BOUNDED),
        "max_upload_bytes": ("413 `too_large`", _BOUNDED),
        "max_expanded_bytes": ("413 `too_large`", "tests/app/ingest/test_npz.py"),
        "max_rows": ("413 `too_many_rows`", _BOUNDED),
        "max_columns": ("413 `too_many_columns`", _BOUNDED),
        "max_queue": ("429 `queue_full`", "tests/app/service/fits/test_fits.py"),
        "tenant_queue": ("429 `queue_full`", "tests/app/api/test_tenants.py"),
        "tenant_running": ("fits wait", "tests/app/api/test_tenants.py"),
        "tenant_sessions": ("429 `sessions_full`", "tests/app/api/test_tenants.py"),
        "tenant_storage_bytes": ("507 `quota_exceeded`", "tests/app/api/test_tenants.py"),
        "session_workers": ("429 `sessions_full`", "tests/app/runner/test_session_pool.py"),
        "max_sessions": ("429 `sessions_full`", "tests/app/service/sessions/test_creation.py"),
        "session_idle_seconds": ("the process is released", "tests/app/runner/test_session_pool.py"),
        "step_seconds": ("422 `step_lost_worker`", "tests/app/runner/test_session_pool.py"),
        "max_step_bytes": ("413 `too_large`", "tests/app/api/test_session_steps.py"),
        "compute_workers": ("429 `computations_full`", _COMPUTING),
        "compute_seconds": ("503 `compute_timeout`", _COMPUTING),
        "compute_operations": ("413 `limit_exceeded`", _COMPUTING),
        "max_answer_bytes": ("413 `answer_too_large`", _COMPUTING),
        "gradients_max_bytes": ("413 `gradients_exceeded`", "tests/app/service/fits/test_fits.py"),
        "memory_budget_bytes": ("fits wait, others: 429 `memory_full`", "tests/app/test_memory_budget.py"),
        "fit_memory_bytes": ("413 `memory_exceeded`", "tests/app/service/fits/test_admission.py"),
        "drain_seconds": ("processes are killed", "tests/app/runner/test_controlled_processes.py"),
        "lease_seconds": ("`stalled`", "tests/app/runner/test_heartbeat_monitor.py"),
        "checkpoint_seconds": ("a checkpoint is written", "tests/app/worker/test_checkpoint_scheduler.py"),
        "attempts_max": ("the fit fails", "tests/app/service/attempts/test_attempts.py"),
        "storage_min_free_bytes": ("507 `storage_full`", "tests/app/test_storage.py"),
        "blob_cache_bytes": ("the least recently used copies are deleted", "tests/app/store/objects/test_cache.py"),
        "storage_quota_bytes": ("507 `storage_full`", "tests/app/test_storage.py"),
        "quarantine_days": ("stored files are deleted", "tests/app/service/admin/test_directory_identity.py"),
        "retention_days": ("fits are deleted", "tests/app/service/fits/test_retention.py"),
        "retention_fits": ("fits are deleted", "tests/app/service/fits/test_retention.py"),
        "audit_entries": ("entries move to files", "tests/app/service/admin/test_audit.py"),
        "audit_files": ("the oldest file is deleted", "tests/app/service/admin/test_audit.py"),
        "max_headers": ("431 `headers_too_large`", _BOUNDED),
        "max_header_bytes": ("431 `headers_too_large`", _BOUNDED),
        "max_uri_bytes": ("414 `uri_too_long`", _BOUNDED),
        "max_page": ("422 `out_of_range`", _BOUNDED),
        "max_json_depth": ("400 `too_deep`", _BOUNDED),
        "max_json_fields": ("400 `too_many_fields`", _BOUNDED),
        "max_text_characters": ("400 `text_too_long`", _BOUNDED),
        "max_graph_nodes": ("422 `limit_exceeded`", _BOUNDED),
        "max_node_inputs": ("422 `limit_exceeded`", _BOUNDED),
        "max_rank": ("422 `limit_exceeded`", _BOUNDED),
        "max_elements": ("422 `limit_exceeded`", _BOUNDED),
        "max_parameter_elements": ("422 `limit_exceeded`", _BOUNDED),
        "max_program_characters": ("422 `limit_exceeded`", _BOUNDED),
        "max_epochs": ("422 `out_of_range`", _BOUNDED),
        "max_steps": ("422 `out_of_range`", _BOUNDED),
        "max_zip_members": ("413 `too_many_members`", _BOUNDED),
        "max_zip_ratio": ("413 `ratio_too_large`", _BOUNDED),
        "max_record_bytes": ("413 `record_too_long`", _BOUNDED),
        "max_classes": ("413 `too_many_classes`", _BOUNDED),
        "ingest_memory_bytes": ("413 or 422", "tests/app/ingest/test_ingest.py"),
        "ingest_cpu_seconds": ("413 or 422", "tests/app/ingest/test_ingest.py"),
        "max_keys": ("409 `too_many_keys`", _BOUNDED),
        "idempotency_days": ("the answer is deleted", "tests/app/service/resources/test_idempotency.py"),
        "workers": ("fits wait", "tests/app/runner/test_supervisor.py"),
    }
)
"""Settings that are limits: what exceeding them comes to, and where that is tested."""

_CONTRACT = "part of the HTTP contract"
_FORMAT = "limit of the stored format"
_READER = "bounds the work per uploaded byte"
_ROOM = "bounds the memory of one session"
_BOUNDS = ("422 `out_of_range` or `too_many`", "tests/app/api/test_schemathesis.py", _CONTRACT)
_INGEST = ("413 or 422", "tests/app/ingest/test_mutations.py", _READER)
_CONSTANTS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "app/api/schemas/": _BOUNDS,
        "app/api/deps.py": _BOUNDS,
        "app/api/events.py": _BOUNDS,
        "app/api/fits.py": _BOUNDS,
        "app/api/sessions.py": _BOUNDS,
        "app/api/gradients.py": _BOUNDS,
        "app/api/graphs.py": _BOUNDS,
        "app/api/metrics.py": _BOUNDS,
        "app/http/strict_json.py": ("400 `number_out_of_range`", "tests/app/http/test_strict_json.py", _FORMAT),
        "app/domain/access.py": ("401 `unknown_key`", "tests/app/api/test_access.py", _FORMAT),
        "app/ingest/": _INGEST,
        "app/runner/compute_slots.py": (
            "429 `computations_full`",
            "tests/app/runner/test_compute_slots.py",
            "bounds the waiting time",
        ),
        "app/ingest/encoding.py": ("runs are named", "tests/app/ingest/test_encoding.py", _FORMAT),
        "app/service/resources/checkpoints.py": (
            "413 or 422",
            "tests/app/api/test_uploaded_checkpoints.py",
            _READER,
        ),
        "app/store/pages.py": ("422 `invalid_cursor`", "tests/app/store/test_pages.py", _FORMAT),
        "app/store/lists.py": ("422 `invalid_cursor`", "tests/app/store/test_pages.py", _FORMAT),
        "app/worker/session/training.py": ("410 `tape_gone`", "tests/app/worker/session/test_verbs.py", _ROOM),
        "app/runner/session_queue.py": ("429 `too_many_steps`", "tests/app/runner/test_session_pool.py", _ROOM),
    }
)
"""The same for constants, by where they are, and why each of them is none that an operator sets."""

INTERNAL = (
    "app/http/rate_limit.py",
    "app/http/audit.py",
    "app/api/predictions.py",
    "app/http/rate_limit.py",
    "app/http/client_address.py",
    "app/http/validation.py",
    "app/api/fits.py",
    "app/http/validation.py",
    "app/cli/",
    "app/domain/frames.py",
    "app/http/http_protocol.py",
    "app/http/intake.py",
    "app/http/transport.py",
    "app/main/application.py",
    "app/runner/",
    "app/config/settings.py",
    "app/service/",
    "app/worker/",
)
"""Where constants bound what the server keeps or does by itself, and nothing that a client sends."""

_DECLARING = re.compile(r"\b(code|status)\b|^\s*class \w+\(", re.MULTILINE)
"""Text that a module has if it may define what takes a code, or a class with an HTTP status or made from one."""
_NAMING = (ast.Call, ast.ClassDef, ast.Dict, ast.FunctionDef)
_LIMIT_NAME = re.compile(r"(^|_)(MAX|MOST)(_|$)")


@cache
def limits() -> tuple[Limit, ...]:
    """Return every limit, in the order of the table."""
    return (*_of_settings(), *_of_uploads(), *_of_graphs(), *_of_modules())


def _of_settings() -> Iterator[Limit]:
    for name, field in Settings.model_fields.items():
        if name in _SETTINGS:
            default = "cores" if name == "workers" else str(field.default).replace("None", "none")
            place = "app/config/bounds.py" if name in Bounds.model_fields else "app/config/settings.py"
            yield Limit(f"ADJOINT_{name.upper()}", default, place, *_SETTINGS[name])


def _lowered() -> Settings:
    """Return settings that differ from the defaults in every number that can be lowered."""
    lowered = {}
    for name, field in Settings.model_fields.items():
        if isinstance(field.default, int) and not isinstance(field.default, bool):
            least: Any = next((bound.ge for bound in field.metadata if isinstance(bound, Ge)), 0)
            lowered[name] = max(least, field.default - 1)
    return Settings(**lowered)


def _of_uploads() -> Iterator[Limit]:
    answer, test = "413 `too_large`, or 422", "tests/app/ingest/test_ingest.py"
    constant = ingest_limits(Settings()), ingest_limits(_lowered())
    for field in fields(IngestLimits):
        if getattr(constant[0], field.name) == getattr(constant[1], field.name):
            yield Limit(f"IngestLimits.{field.name}", str(field.default), "app/ingest/limits.py", answer, test, _READER)


def _of_graphs() -> Iterator[Limit]:
    constant = graph_limits(Settings()), graph_limits(_lowered())
    for field in fields(GraphLimits):
        if getattr(constant[0], field.name) != getattr(constant[1], field.name):
            continue
        value = str(getattr(LIMITS, field.name))
        test = "tests/engine/graph/test_hostile.py"
        place = "engine/graph/limits.py"
        yield Limit(f"GraphLimits.{field.name}", value, place, "422 `limit_exceeded`", test, _READER)


def _of_modules() -> Iterator[Limit]:
    for path in sorted((ROOT / "app").rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        for node in ast.parse(path.read_text("utf-8")).body:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(target, ast.Name) and _LIMIT_NAME.search(target.id) and target.id.strip("_").isupper():
                assert isinstance(node, ast.Assign)
                where = next((known for known in _CONSTANTS if place.startswith(known)), None)
                if where is not None or not place.startswith(INTERNAL):
                    said = (UNSAID, UNSAID, UNSAID) if where is None else _CONSTANTS[where]
                    yield Limit(target.id.strip("_"), ast.unparse(node.value), place, *said)


@cache
def codes() -> dict[str, set[str]]:
    """Return for each error code how it is met: an HTTP status, among `errors`, of a fit, or of the engine.

    A module is parsed where its text has the words for it: the syntax of all of them takes seconds, and so much memory
    that it is not kept either.
    """
    texts = {path: path.read_text("utf-8") for part in ("app", "engine") for path in (ROOT / part).rglob("*.py")}
    everywhere: dict[str, int] = {}
    classes: dict[str, _ErrorClass] = {}
    for text in filter(_DECLARING.search, texts.values()):
        nodes = _nodes(text)
        everywhere |= _places(nodes)
        classes |= {node.name: _error_class(node) for node in nodes if isinstance(node, ast.ClassDef)}
    statuses = _statuses(classes)
    calling = re.compile(rf"\bcode\b|(?<!def )\b(?:{'|'.join(sorted({*everywhere, *CALLS}))})\(")
    found: dict[str, set[str]] = defaultdict(set, {code: {status} for code, status in BY_PHRASE.items()})
    for path, text in texts.items():
        if not calling.search(text):
            continue
        nodes = _nodes(text)
        of_engine = path.is_relative_to(ROOT / "engine")
        places = {**everywhere, **_places(nodes), **CALLS}
        for node in nodes:
            for code, how in _codes_of(node, statuses, places, engine=of_engine):
                found[code].add(how)
    return dict(found)


def _nodes(text: str) -> list[ast.AST]:
    """Return the parts of a module that can name a code, or say where one is named."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, _NAMING)]


def _places(tree: list[ast.AST]) -> dict[str, int]:
    """Return for each function that takes a code by position at which one."""
    found = {}
    for node in tree:
        if isinstance(node, ast.FunctionDef):
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args) if each.arg not in ("self", "cls")]
            if "code" in names:
                found[node.name] = names.index("code")
    return found


def _codes_of(
    node: ast.AST, statuses: Mapping[str, str], places: Mapping[str, int], *, engine: bool
) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.ClassDef):
        for code in (*_class_attribute(node, "code"), *_class_option(node, "code")):
            yield code, OF_THE_ENGINE if engine else statuses.get(node.name, "500")
    if isinstance(node, ast.Dict):
        yield from _code_of_reply(node)
    if not isinstance(node, ast.Call):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    place = places.get(name)
    given = _text(node.args[place]) if place is not None and len(node.args) > place else None
    if given and given.isidentifier():
        yield given, OF_A_FIT if name in ("Failed", "Died") else IN_ERRORS
    for keyword in node.keywords:
        if keyword.arg == "code" and (given := _text(keyword.value)):
            yield given, _status_of(node, statuses.get(name), engine=engine)


def _class_option(node: ast.ClassDef, name: str) -> list[str]:
    """Return the text that a class statement gives as an option, as in `class ShapeError(EngineError, code="...")`."""
    return [given for option in node.keywords if option.arg == name and (given := _text(option.value))]


def _code_of_reply(node: ast.Dict) -> Iterator[tuple[str, str]]:
    """Yield code and status of a reply of a session's process, which is an object with both."""
    fields = {_text(key): value for key, value in zip(node.keys, node.values, strict=True) if key is not None}
    code, status = _text(fields.get("code", node)), fields.get("status")
    if code is not None and code.isidentifier() and isinstance(status, ast.Constant):
        yield code, str(status.value)


def _status_of(node: ast.Call, known: str | None, *, engine: bool) -> str:
    given = next((word.value for word in node.keywords if word.arg == "status"), None)
    if isinstance(given, ast.Constant):
        return str(given.value)
    return known or (OF_THE_ENGINE if engine else IN_ERRORS)


@dataclass(frozen=True)
class _ErrorClass:
    """The HTTP status that a class has of its own, and the names of the classes that it is made from."""

    status: str | None
    bases: tuple[str, ...]


def _error_class(node: ast.ClassDef) -> _ErrorClass:
    bases = tuple(getattr(base, "id", "") for base in node.bases)
    return _ErrorClass(next(iter(_class_attribute(node, "status")), None), bases)


def _statuses(classes: Mapping[str, _ErrorClass]) -> dict[str, str]:
    """Return the HTTP status of each class of errors: its own, or that of the class it is made from."""

    def status(name: str) -> str | None:
        found = classes.get(name)
        if found is None:
            return None
        return found.status or next((inherited for base in found.bases if (inherited := status(base))), None)

    return {name: found for name in classes if (found := status(name))}


def _class_attribute(node: ast.ClassDef, name: str) -> Iterator[str]:
    for statement in node.body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        value = getattr(statement, "value", None)
        named = isinstance(target, ast.Name) and target.id == name
        if named and isinstance(value, ast.Constant) and value.value is not None:
            yield str(value.value)


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def meanings() -> dict[str, str]:
    """Return what the docs say of each code."""
    path = DOCS / "errors.md"
    text = path.read_text("utf-8") if path.exists() else ""
    return dict(re.findall(r"^\| `(\w+)` \| .*? \| (.*) \|$", text, re.MULTILINE))


def errors_page() -> str:
    """Return the page of error codes."""
    said = meanings()
    rows = [(f"`{code}`", ", ".join(sorted(how)), said.get(code, UNSAID)) for code, how in sorted(codes().items())]
    return page("Error codes", ABOUT_ERRORS, table(("code", "status", "meaning"), rows))


def limits_page() -> str:
    """Return the page of fixed limits."""
    rows = [
        (f"`{limit.name}`", limit.default, f"`{limit.place.rpartition('/')[0]}`", limit.answer, limit.fixed)
        for limit in limits()
        if limit.fixed
    ]
    return page("Fixed limits", ABOUT_LIMITS, table(("limit", "value", "set in", "beyond it", "why it is fixed"), rows))
