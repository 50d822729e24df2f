"""A server that is one of several on one database: it joins them if its settings agree with theirs."""

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.config.bounds import Bounds
from app.config.settings import Settings, server_version
from app.domain.errors import DatabaseUnusable
from app.domain.servers import ServerRecord, ServerStatus, SessionPlace
from app.service.sessions.ownership import find_place
from app.store.data_directory import SERVERS
from app.store.postgres.database import PostgresDatabase
from app.store.postgres.election import Election
from app.store.unit_of_work import Store
from app.system.durable import Durable

AGREED = (
    *Bounds.model_fields,
    "attempts_max",
    "audit_entries",
    "audit_files",
    "blob_redirect_seconds",
    "fair_share_label",
    "gradients_max_bytes",
    "max_columns",
    "max_expanded_bytes",
    "max_json_bytes",
    "max_queue",
    "max_rows",
    "max_sessions",
    "max_step_bytes",
    "max_upload_bytes",
    "quarantine_days",
    "retention_days",
    "retention_fits",
    "storage_quota_bytes",
    "tenant_queue",
    "tenant_running",
    "tenant_sessions",
    "tenant_storage_bytes",
)
"""The settings that have to be the same on all servers: what clients may do must not depend on where they ask."""

SECRETS = ("api_key", "cluster_secret")
"""Those of which only fingerprints are compared."""

PLACES = ("runner", "ray_address")
"""Those that the servers have to share that may run the fits: one takes over what another has begun."""

BLOBS = "blobs"
SESSIONS = "sessions"
IDENTITY = "identity"
GONE_FOR_SECONDS = 60.0
"""How long the row of a server that is gone is kept."""


@dataclass(frozen=True, slots=True)
class Membership:
    """This server among the others; `is_first` if there was no other when it joined."""

    election: Election
    store: Store
    secret: bytes
    is_first: bool

    @property
    def id(self) -> str:
        """The id of this server."""
        return self.election.server_id

    @property
    def leads(self) -> bool:
        """Whether this server runs the fits, and keeps house."""
        return self.election.epoch is not None

    def servers(self) -> tuple[ServerStatus, ...]:
        """Return all servers."""
        with self.store.read() as work:
            return work.servers.list()

    def find_place(self, session_id: str) -> SessionPlace:
        """Return which server runs a session. NotFound."""
        return find_place(self.store, self.id, session_id)

    def forget_gone(self) -> None:
        """Remove the servers that have been gone for a while."""
        with self.store.begin() as work:
            work.servers.forget_gone(GONE_FOR_SECONDS)


def join(
    settings: Settings, server_id: str, store: Store, durable: Durable, stack: ExitStack, joining: ExitStack
) -> Membership:
    """Join the other servers of the database; none other joins or begins to run fits before `joining` has ended.

    The server leaves when `stack` ends. DatabaseUnusable if its settings differ from those of the others.
    """
    database = store.database
    assert isinstance(database, PostgresDatabase)
    places = {BLOBS: _blobs(settings, durable), SESSIONS: _sessions(settings, durable)}
    own = ServerRecord(server_id, "", server_version(), terms_of(settings, places))
    election = stack.enter_context(closing(Election(database.engine, own, runs_fits=settings.workers > 0)))
    joining.enter_context(election.alone())
    with store.begin() as work:
        others = work.servers.terms()
        for other in others:
            check_agreement(own.terms, other)
        work.servers.register(own)
    election.start()
    assert settings.cluster_secret is not None
    return Membership(election, store, settings.cluster_secret.get_secret_value().encode(), is_first=not others)


def _blobs(settings: Settings, durable: Durable) -> str:
    """Return the name of the place of the stored files, without secrets."""
    if settings.blob_url is None:
        return f"the data directory {data_directory_id(settings.data_dir, durable)}"
    from app.store.objects.address import read_address

    return read_address(settings.blob_url.get_secret_value()).name


def _sessions(settings: Settings, durable: Durable) -> str:
    """Return where the servers that share sessions keep them."""
    if settings.shares_sessions:
        return "the database"
    return f"the data directory {data_directory_id(settings.data_dir, durable)}"


def terms_of(settings: Settings, places: Mapping[str, str]) -> dict[str, Any]:
    """Return what the servers compare."""
    assert settings.cluster_secret is not None
    key = settings.cluster_secret.get_secret_value().encode()
    names = AGREED if settings.workers == 0 else (*AGREED, *PLACES)
    values: dict[str, Any] = {name: getattr(settings, name) for name in names}
    for name in SECRETS:
        value = getattr(settings, name)
        values[name] = None if value is None else _fingerprint(key, f"{name}={value.get_secret_value()}")
    return {**values, **places}


def check_agreement(own: Mapping[str, Any], other: ServerRecord) -> None:
    """DatabaseUnusable unless the terms are those of the other server, as far as both have them."""
    differing = sorted(name for name in own.keys() & other.terms.keys() if own[name] != other.terms[name])
    if differing:
        where = other.url or other.id
        found = "; ".join(_difference(name, own[name], other.terms[name], where) for name in differing)
        raise DatabaseUnusable(
            f"this server cannot share the database with the one at {where}: {found}; give both the same settings"
        )


def _difference(name: str, own: object, theirs: object, where: str) -> str:
    if name == BLOBS:
        return f"its stored files are in {own}, and those of {where} in {theirs} (ADJOINT_DATA_DIR, ADJOINT_BLOB_URL)"
    if name == SESSIONS:
        setting = "ADJOINT_SESSIONS_IN_DATA_DIR, ADJOINT_DATA_DIR"
        return f"its sessions are kept in {own}, and those of {where} in {theirs} ({setting})"
    setting = f"ADJOINT_{name.upper()}"
    return f"{setting} differs" if name in SECRETS else f"{setting} is {own} here and {theirs} there"


def _fingerprint(key: bytes, text: str) -> str:
    return hmac.new(key, f"adjoint {text}".encode(), hashlib.sha256).hexdigest()


def data_directory_id(data_dir: Path, durable: Durable) -> str:
    """Return what distinguishes this data directory from others, made by the first of the servers that share it."""
    path = data_dir.resolve() / SERVERS / IDENTITY
    if not path.exists():
        partial = path.with_name(f"{IDENTITY}.{secrets.token_hex(8)}")
        with durable.create(partial) as file:
            file.write(secrets.token_hex(16).encode())
            file.sync()
        with suppress(FileExistsError):
            os.link(partial, path)  # unlike a rename, it does not replace what another server has made
        durable.unlink(partial)
        durable.sync_folder(path.parent)
    return path.read_text(encoding="ascii").strip()
