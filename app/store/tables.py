"""The tables. Where a table keeps a record of the domain, its columns are the record's fields in the same order.

What a table has no tenant for belongs to something that has: it is asked for by that one's id.
"""

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Enum,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from app.domain.fit import WAITS_FOR_MEMORY, FitState
from app.domain.session import SessionState
from app.store.json_text import encode_json

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def to_microseconds(moment: datetime) -> int:
    """Return the microseconds from 1970 in UTC to the aware `moment`."""
    return (moment - EPOCH) // MICROSECOND


class JsonText(TypeDecorator[Any]):
    """A JSON value as text, in Python's dialect: NaN and Infinity survive, so that a diverged fit can be stored.

    Text, not the database's own JSON type, so that integers of any size and floats read back to the same bits.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, _dialect: Dialect) -> str | None:
        """Encode `value` as JSON; None is NULL."""
        return None if value is None else encode_json(value)

    def process_result_value(self, value: Any, _dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


class Timestamp(TypeDecorator[datetime]):
    """An aware moment as microseconds since 1970 in UTC: exact, small, and in order."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Dialect) -> int | None:
        return None if value is None else to_microseconds(value)

    def process_result_value(self, value: Any, _dialect: Dialect) -> datetime | None:
        return None if value is None else EPOCH + timedelta(microseconds=value)


class ExactNumber(TypeDecorator[float]):
    """An int or a float as text, so that 2**64 - 1, infinity and every bit of a float read back as they were."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: float | None, _dialect: Dialect) -> str | None:
        return None if value is None else repr(value)

    def process_result_value(self, value: Any, _dialect: Dialect) -> float | None:
        """Return an int for the text of a whole number, else a float."""
        if value is None:
            return None
        return int(value) if value.lstrip("-").isdigit() else float(value)


if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def values_of(record: "DataclassInstance") -> dict[str, Any]:
    """Return the record's fields by name, not copied (`dataclasses.asdict` would copy every nested dict).

    Those that are computed when a record is read (`app.domain.records`) are left out.
    """
    return {field.name: getattr(record, field.name) for field in fields(record) if not field.metadata.get("computed")}


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite's integers have 64 bits under every name.
_INTEGER = Integer().with_variant(BigInteger(), "postgresql")
_STATE = Enum(FitState, native_enum=False, create_constraint=False, length=16, values_callable=list)
_SESSION_STATE = Enum(SessionState, native_enum=False, create_constraint=False, length=16, values_callable=list)


def _tenant() -> Column[str]:
    return Column("tenant", Text, nullable=False, server_default=text("'default'"))


def _name() -> Column[str]:
    """Return a column for the name that a client gives; the empty one is none."""
    return Column("name", Text, nullable=False, server_default=text("''"))


def _list_indexes(*orders: str) -> list[Index]:
    """Return the indexes for lists by time of creation and by what else is common (see `app.store.lists`)."""
    return [Index(None, "tenant", *columns) for columns in [("created_at",), *((order, "id") for order in orders)]]


def _where(condition: ColumnElement[bool]) -> dict[str, Any]:
    """Return the options of an index of the rows that meet a condition.

    In PostgreSQL too, by the migrations: to say so here would load its dialect wherever the tables are.
    """
    return {"sqlite_where": condition}


graphs = Table(
    "graphs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("definition", JsonText, nullable=False),
    Column("report", JsonText, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    _tenant(),
    Index(None, "tenant", "id"),
    Index(None, "digest"),
    *_list_indexes("name"),
)

datasets = Table(
    "datasets",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False, index=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("format", Text, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    _tenant(),
    Column("version", _INTEGER, nullable=False, server_default=text("1")),
    Column("origin", JsonText),
    Index(None, "tenant", "id"),
    *_list_indexes("name"),
)

dataset_columns = Table(
    "dataset_columns",
    metadata,
    Column("dataset_id", Text, ForeignKey("datasets.id", ondelete="CASCADE"), nullable=False),
    Column("position", _INTEGER, nullable=False),
    Column("name", Text, nullable=False),
    Column("dtype", Text, nullable=False),
    Column("shape", JsonText, nullable=False),
    Column("blob", Text, nullable=False, index=True),
    Column("minimum", ExactNumber),
    Column("maximum", ExactNumber),
    Column("mean", ExactNumber),
    Column("missing", BigInteger, nullable=False),
    Column("classes", JsonText),
    Column("label", Text),
    Column("images", JsonText),
    PrimaryKeyConstraint("dataset_id", "position"),
)

# A fit outlives its graph and its dataset: they may be deleted once it is terminal, so there is no foreign key.
fits = Table(
    "fits",
    metadata,
    Column("id", Text, primary_key=True),
    Column("state", _STATE, nullable=False),
    Column("phase", Text, nullable=False),
    Column("graph_id", Text, nullable=False, index=True),
    Column("dataset_id", Text, nullable=False, index=True),
    Column("request", JsonText, nullable=False),
    Column("labels", JsonText, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("total_steps", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("latest", JsonText, nullable=False),
    Column("best", JsonText),
    Column("attempt", _INTEGER, nullable=False),
    Column("attempts_max", _INTEGER, nullable=False),
    Column("error", JsonText),
    Column("created_at", Timestamp, nullable=False),
    Column("started_at", Timestamp),
    Column("finished_at", Timestamp),
    Column("priority", _INTEGER, nullable=False),
    Column("version", _INTEGER, nullable=False),
    Column("stop_reason", Text),
    Column("runtime", JsonText),
    Column("parent_id", Text),
    Column("variant", JsonText),
    Column("sweep", JsonText),
    Column("bit_exact", Boolean(create_constraint=False), nullable=False, server_default=true()),
    Column("seconds", Float, nullable=False, server_default=text("0")),
    Column("deadline_at", Timestamp),
    Column("share", Text, nullable=False, server_default=text("''")),
    Column("origin", JsonText),
    Column("reopened_at", BigInteger),
    Column("replay", JsonText),
    Column("memory_bytes", BigInteger),
    _tenant(),
    _name(),
    Index(None, "state", "id"),
    Index(None, "tenant", "id"),
    *_list_indexes("name"),
)
# The queue: the fits of one state by tenant and share, each by priority and age. The variants of a
# sweep have no turns of their own; that column is there so that shares are read from the index alone.
Index(
    "ix_fits_turn",
    fits.c.state,
    fits.c.tenant,
    fits.c.share,
    fits.c.priority.desc(),
    fits.c.id,
    fits.c.parent_id,
    **_where(fits.c.parent_id.is_(None)),
)
# Those whose turn it was, and that wait for memory: nothing of their priority may go before them.
Index(
    "ix_fits_waits_for_memory",
    fits.c.state,
    fits.c.priority,
    fits.c.id,
    **_where(fits.c.phase == text(f"'{WAITS_FOR_MEMORY}'")),
)
# Deadlines that can still be missed.
Index("ix_fits_deadline_at", fits.c.deadline_at, **_where(fits.c.finished_at.is_(None)))
Index("ix_fits_parent_id", fits.c.parent_id, **_where(fits.c.parent_id.is_not(None)))

attempts = Table(
    "attempts",
    metadata,
    Column("fit_id", Text, ForeignKey("fits.id", ondelete="CASCADE"), nullable=False),
    Column("number", _INTEGER, nullable=False),
    Column("token", Text, nullable=False),
    Column("pid", _INTEGER),
    Column("started_at", Timestamp, nullable=False),
    Column("ended_at", Timestamp),
    Column("outcome", Text),
    Column("received", _INTEGER, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("fit_id", "number"),
)

# Without rowids the rows lie in the order in which they are read, and the fit's id is stored once less.
events = Table(
    "events",
    metadata,
    Column("fit_id", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("metric_seq", BigInteger),
    Column("created_at", Timestamp, nullable=False),
    PrimaryKeyConstraint("fit_id", "seq"),
    UniqueConstraint("fit_id", "metric_seq"),
    ForeignKeyConstraint(["fit_id"], ["fits.id"], ondelete="CASCADE"),
    sqlite_with_rowid=False,
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("id", Text, primary_key=True),
    Column("fit_id", Text, ForeignKey("fits.id", ondelete="CASCADE"), index=True),
    Column("graph_id", Text, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("digest", Text, nullable=False, index=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("metrics", JsonText, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("is_best", Boolean(create_constraint=False), nullable=False),
    Column("deleted", Boolean(create_constraint=False), nullable=False),
    Column("pinned", Boolean(create_constraint=False), nullable=False, server_default=false()),
    Column("session_id", Text),
    Column("session_seq", BigInteger),
    _tenant(),
    Index(None, "tenant", "id"),
    *_list_indexes(),
)
# A step of a session saves one checkpoint, however often it is sent.
Index(
    "ix_checkpoints_session_id_session_seq",
    checkpoints.c.session_id,
    checkpoints.c.session_seq,
    unique=True,
    **_where(checkpoints.c.session_id.is_not(None)),
)

# A session outlives its graph and its datasets as a fit does, once it is closed.
sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("state", _SESSION_STATE, nullable=False),
    Column("graph_id", Text, nullable=False, index=True),
    Column("request", JsonText, nullable=False),
    Column("labels", JsonText, nullable=False),
    Column("attempt", _INTEGER, nullable=False),
    Column("ttl_seconds", Float, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("used_at", Timestamp, nullable=False),
    Column("finished_at", Timestamp),
    Column("runtime", JsonText),
    Column("error", JsonText),
    Column("checkpoint_id", Text),
    Column("bit_exact", Boolean(create_constraint=False), nullable=False),
    Column("version", _INTEGER, nullable=False),
    Column("memory_bytes", BigInteger),
    _tenant(),
    Column("begun", Boolean(create_constraint=False), nullable=False, server_default=false()),
    _name(),
    Column("server", Text, nullable=False, server_default=text("''")),
    Index(None, "state", "id"),
    Index(None, "tenant", "id"),
    *_list_indexes("name"),
)

session_datasets = Table(
    "session_datasets",
    metadata,
    Column("session_id", Text, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("dataset_id", Text, nullable=False, index=True),
    PrimaryKeyConstraint("session_id", "dataset_id"),
)

# The files of sessions where servers have no folder in common, in parts: what stands from byte `start` of a file on, in
# the row or in a blob. An attempt that is not the latest one of its session changes none of them.
session_files = Table(
    "session_files",
    metadata,
    Column("session_id", Text, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("start", BigInteger, nullable=False),
    Column("data", LargeBinary),
    Column("digest", Text, index=True),
    PrimaryKeyConstraint("session_id", "name", "start"),
)

# Whose fits were claimed last: the highest turn was the latest one.
shares = Table(
    "shares",
    metadata,
    Column("name", Text, primary_key=True),
    Column("turn", BigInteger, nullable=False),
)

gradients = Table(
    "gradients",
    metadata,
    Column("fit_id", Text, ForeignKey("fits.id", ondelete="CASCADE"), nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("parameter", Text, nullable=False),
    Column("dtype", Text, nullable=False),
    Column("shape", JsonText, nullable=False),
    Column("digest", Text, nullable=False, index=True),
    Column("size_bytes", BigInteger, nullable=False),
    PrimaryKeyConstraint("fit_id", "step", "parameter"),
)

# Blobs whose files were found to be missing or not what their digests say, until the same bytes are stored again.
damaged_blobs = Table(
    "damaged_blobs",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("problem", Text, nullable=False),
    Column("found_at", Timestamp, nullable=False),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("scope", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("body_digest", Text, nullable=False),
    Column("status", _INTEGER, nullable=False),
    Column("response_body", Text, nullable=False),
    Column("resource_id", Text),
    Column("created_at", Timestamp, nullable=False, index=True),
    _tenant(),
    PrimaryKeyConstraint("tenant", "scope", "key"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    _tenant(),
    Column("name", Text, nullable=False),
    Column("scopes", JsonText, nullable=False),
    Column("digest", Text, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp),
    Column("revoked_at", Timestamp),
    Column("used_at", Timestamp),
)

# Only ever appended to: a row that is changed or gone no longer fits the hash of the one after it.
audit = Table(
    "audit",
    metadata,
    Column("seq", _INTEGER, primary_key=True, autoincrement=False),
    Column("at", Timestamp, nullable=False),
    Column("key_id", Text),
    Column("action", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

# At most one row: which data directory this is the database of (see `app.service.admin.directory_identity`).
identity = Table("identity", metadata, Column("id", Text, primary_key=True))

# The servers of a database that several use. Their times are those of the database, in microseconds.
servers = Table(
    "servers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("terms", JsonText, nullable=False),
    Column("started_at", Timestamp, nullable=False),
    Column("heartbeat_at", Timestamp, nullable=False),
)

# At most one row: which of the servers runs fits, and the epoch that began when it took over.
leadership = Table(
    "leadership",
    metadata,
    Column("id", _INTEGER, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False),
    Column("server", Text, nullable=False),
    Column("since", Timestamp, nullable=False),
)

# Blobs that nothing referred to at a moment, where several servers may be storing the same bytes again.
discarded_blobs = Table(
    "discarded_blobs",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("discarded_at", Timestamp, nullable=False, index=True),
)
