"""Checkpoints in the database. A deleted one stays on record, which distinguishes "deleted" from "unknown"."""

from typing import Any

from sqlalchemy import Select, bindparam, false, null, select, update

from app.domain.errors import NotFound
from app.domain.records import CheckpointRecord
from app.store.blob_references import is_damaged
from app.store.lists import ALL, CHECKPOINTS, Filters
from app.store.pages import Page, PageRequest, owned
from app.store.repository import Resources, by_id
from app.store.rows import read_optional, read_rows, row_reader
from app.store.tables import checkpoints

_ITSELF = (checkpoints.c.id == bindparam("checkpoint_id"), owned(checkpoints))
_RECORD: Select[Any] = select(*checkpoints.c, is_damaged(checkpoints.c.digest))
_KEPT = _RECORD.where(checkpoints.c.deleted == false())
_KEPT_OF_FIT = _KEPT.where(checkpoints.c.fit_id == bindparam("fit"), owned(checkpoints))
_NEWEST_FIRST = (checkpoints.c.step.desc(), checkpoints.c.id.desc())
_LATEST = _KEPT_OF_FIT.order_by(*_NEWEST_FIRST).limit(1)
_BEST = _KEPT_OF_FIT.where(checkpoints.c.is_best).order_by(*_NEWEST_FIRST).limit(1)
_NO_LONGER_BEST = (
    update(checkpoints).where(checkpoints.c.fit_id == bindparam("fit"), checkpoints.c.is_best).values(is_best=false())
)
_WITH_DIGEST = _KEPT.where(checkpoints.c.digest == bindparam("content"), owned(checkpoints)).order_by(checkpoints.c.id)
_OF_STEP = _RECORD.where(
    checkpoints.c.session_id == bindparam("session"),
    checkpoints.c.session_seq == bindparam("place"),
    owned(checkpoints),
)
_SAVED = (
    select(checkpoints.c.session_seq)
    .where(checkpoints.c.session_id == bindparam("session"), checkpoints.c.session_seq > 0)
    .order_by(checkpoints.c.session_seq)
)
_FORGET_STEP = update(checkpoints).where(*_ITSELF).values(session_seq=null())
_FILES = _KEPT.with_only_columns(checkpoints.c.id, checkpoints.c.digest, checkpoints.c.size_bytes)
_PIN = update(checkpoints).where(*_ITSELF).values(pinned=bindparam("is_pinned"))
_DELETE = update(checkpoints).where(*_ITSELF).values(deleted=True)


class Checkpoints(Resources[CheckpointRecord]):
    """The checkpoints of a tenant, or of all, within one unit of work."""

    _table = checkpoints
    _noun = "checkpoint"
    _record = CheckpointRecord
    _get = by_id(_RECORD, checkpoints)
    _lock = _get.with_for_update(of=checkpoints, key_share=True)

    def add(self, checkpoint: CheckpointRecord) -> None:
        """Store a new checkpoint, whose blob must be durable by now. A best one takes the fit's title from the last."""
        if checkpoint.is_best and checkpoint.fit_id is not None:
            self._connection.execute(_NO_LONGER_BEST, {"fit": checkpoint.fit_id})
        super().add(checkpoint)

    def list(
        self,
        page: PageRequest,
        filters: Filters = ALL,
        *,
        fit: str | None = None,
        session: str | None = None,
        graph: str | None = None,
    ) -> Page[CheckpointRecord]:
        """Return a page of the checkpoints that are not deleted and meet `filters`: those of a fit, of a session and of
        a graph, where these are given.
        """
        chosen = {"fit_id": fit, "session_id": session, "graph_id": graph}
        statement = _KEPT.where(*(checkpoints.c[name] == value for name, value in chosen.items() if value is not None))
        return CHECKPOINTS.fetch(self._connection, statement, self._tenant, page, filters, row_reader(CheckpointRecord))

    def of_step(self, session_id: str, seq: int) -> CheckpointRecord | None:
        """Return the checkpoint that a step of a session has saved, also a deleted one."""
        row = self._connection.execute(_OF_STEP, {"session": session_id, "place": seq, "whose": self._tenant}).first()
        return read_optional(CheckpointRecord, row)

    def saved(self, session_id: str) -> tuple[int, ...]:
        """Return the steps of a session whose checkpoints are on record."""
        return tuple(self._connection.execute(_SAVED, {"session": session_id}).scalars())

    def forget_step(self, checkpoint_id: str) -> None:
        """Keep the checkpoint, but not of which step of its session it is: that step is another one now."""
        self._connection.execute(_FORGET_STEP, {"checkpoint_id": checkpoint_id, "whose": self._tenant})

    def kept(self, fit_id: str) -> tuple[CheckpointRecord, ...]:
        """Return all of the fit's checkpoints that are not deleted, the furthest first."""
        found = self._connection.execute(_KEPT_OF_FIT.order_by(*_NEWEST_FIRST), self._of(fit_id))
        return read_rows(CheckpointRecord, found)

    def files(self) -> tuple[tuple[str, str, int], ...]:
        """Return id, digest and size of every checkpoint that is not deleted."""
        return tuple((row.id, row.digest, row.size_bytes) for row in self._connection.execute(_FILES))

    def latest(self, fit_id: str) -> CheckpointRecord | None:
        """Return the fit's furthest checkpoint that is not deleted."""
        row = self._connection.execute(_LATEST, self._of(fit_id)).first()
        return read_optional(CheckpointRecord, row)

    def best(self, fit_id: str) -> CheckpointRecord | None:
        """Return the fit's best checkpoint unless it is deleted."""
        row = self._connection.execute(_BEST, self._of(fit_id)).first()
        return read_optional(CheckpointRecord, row)

    def with_digest(self, digest: str) -> tuple[CheckpointRecord, ...]:
        """Return the checkpoints with this content that are not deleted, the oldest first."""
        found = self._connection.execute(_WITH_DIGEST, {"content": digest, "whose": self._tenant})
        return read_rows(CheckpointRecord, found)

    def pin(self, checkpoint_id: str, *, pinned: bool) -> CheckpointRecord:
        """Note whether the checkpoint is pinned, and return it; NotFound if there is none."""
        self._connection.execute(_PIN, {"checkpoint_id": checkpoint_id, "whose": self._tenant, "is_pinned": pinned})
        return self.get(checkpoint_id)

    def delete(self, checkpoint_id: str) -> None:
        """Mark the checkpoint as deleted; NotFound if there is none. Its blob is free once nothing refers to it."""
        if self._connection.execute(_DELETE, {"checkpoint_id": checkpoint_id, "whose": self._tenant}).rowcount == 0:
            raise NotFound(f"there is no checkpoint {checkpoint_id!r}")

    def _of(self, fit_id: str) -> dict[str, str | None]:
        return {"fit": fit_id, "whose": self._tenant}
