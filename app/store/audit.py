"""The audit trail in the database."""

import re
from collections.abc import Iterable, Sequence

from sqlalchemy import delete, func, insert, select

from app.domain.audit import GENESIS, Act, AuditRecord, entered
from app.store.pages import Page, PageRequest, decode_cursor, encode_cursor
from app.store.repository import Repository
from app.store.rows import read_optional, read_rows
from app.store.tables import audit, values_of

_SEQ = re.compile(r"[1-9][0-9]{0,15}")
_LAST = select(audit.c.seq, audit.c.hash).order_by(audit.c.seq.desc()).limit(1)


class Audit(Repository):
    """The trail, within one unit of work. Nothing here changes what was entered.

    The oldest entries may have been moved to files (`app.service.admin.audit`); the last one is always in the
    table, since the next one follows it.
    """

    def append(self, acts: Iterable[Act]) -> None:
        """Enter acts in their order."""
        self._dialect.lock(self._connection, "audit")
        last = self._connection.execute(_LAST).first()
        seq, previous = (0, GENESIS) if last is None else (last.seq, last.hash)
        entries = []
        for act in acts:
            seq += 1
            entries.append(entered(act, seq, self._now, previous))
            previous = entries[-1].hash
        if entries:
            self._connection.execute(insert(audit), [values_of(entry) for entry in entries])

    def extent(self) -> tuple[int, int] | None:
        """Return the numbers of the first and the last entry in the table; None if there is none."""
        first, last = self._connection.execute(select(func.min(audit.c.seq), func.max(audit.c.seq))).one()
        return None if first is None else (first, last)

    def find(self, seq: int) -> AuditRecord | None:
        """Return an entry, if it is in the table."""
        row = self._connection.execute(select(audit).where(audit.c.seq == seq)).first()
        return read_optional(AuditRecord, row)

    def after(self, seq: int, most: int) -> Sequence[AuditRecord]:
        """Return the entries in the table that come after `seq`, at most `most`."""
        statement = select(audit).where(audit.c.seq > seq).order_by(audit.c.seq).limit(most)
        return list(read_rows(AuditRecord, self._connection.execute(statement)))

    def says(self, act: Act) -> bool:
        """Whether an act like this is in the table, by any actor."""
        same = (audit.c.action == act.action) & (audit.c.object == act.object) & (audit.c.result == act.result)
        return self._connection.execute(select(audit.c.seq).where(same).limit(1)).first() is not None

    def drop(self, last: int) -> None:
        """Take the entries up to `last` out of the table: they are kept elsewhere."""
        self._connection.execute(delete(audit).where(audit.c.seq <= last))

    def list(self, page: PageRequest) -> Page[AuditRecord]:
        """Return a page of the trail."""
        descending = page.order == "desc"
        statement = select(audit).order_by(audit.c.seq.desc() if descending else audit.c.seq)
        if page.cursor is not None:
            last = int(decode_cursor(page.cursor, _SEQ))
            statement = statement.where(audit.c.seq < last if descending else audit.c.seq > last)
        # One row more than requested shows whether there is a next page.
        rows = self._connection.execute(statement.limit(page.limit + 1)).all()
        items = read_rows(AuditRecord, rows[: page.limit])
        return Page(items, encode_cursor(str(items[-1].seq)) if len(rows) > len(items) > 0 else None)
