"""The audit trail in the database."""

import re
from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection, insert, select

from app.domain.audit import GENESIS, Act, AuditRecord, entered
from app.store.pages import Page, PageRequest, decode_cursor, encode_cursor
from app.store.rows import values_of
from app.store.tables import audit

_SEQ = re.compile(r"[1-9][0-9]{0,15}")
_LAST = select(audit.c.seq, audit.c.hash).order_by(audit.c.seq.desc()).limit(1)


class Audit:
    """The trail, within one unit of work. `now` is the time it began."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now

    def append(self, acts: Iterable[Act]) -> None:
        """Enter acts in their order."""
        last = self._connection.execute(_LAST).first()
        seq, previous = (0, GENESIS) if last is None else (last.seq, last.hash)
        entries = []
        for act in acts:
            seq += 1
            entries.append(entered(act, seq, self._now, previous))
            previous = entries[-1].hash
        if entries:
            self._connection.execute(insert(audit), [values_of(entry) for entry in entries])

    def list(self, page: PageRequest) -> Page[AuditRecord]:
        """Return a page of the trail."""
        descending = page.order == "desc"
        statement = select(audit).order_by(audit.c.seq.desc() if descending else audit.c.seq)
        if page.cursor is not None:
            last = int(decode_cursor(page.cursor, _SEQ))
            statement = statement.where(audit.c.seq < last if descending else audit.c.seq > last)
        # One row more than asked for tells whether there is a next page.
        rows = self._connection.execute(statement.limit(page.limit + 1)).all()
        items = tuple(AuditRecord(*row) for row in rows[: page.limit])
        return Page(items, encode_cursor(str(items[-1].seq)) if len(rows) > len(items) > 0 else None)
