"""Attempts in the database, and the fence that keeps a superseded process out."""

from sqlalchemy import bindparam, insert, select, update

from app.domain.errors import Conflict, NotFound
from app.domain.fit import Attempt
from app.store.repository import Repository
from app.store.rows import read_optional, read_row, read_rows
from app.store.tables import attempts, fits, values_of

_OF_FIT = select(attempts).where(attempts.c.fit_id == bindparam("fit"))
_GET = _OF_FIT.where(attempts.c.number == bindparam("attempt_number"))
_LATEST = _OF_FIT.order_by(attempts.c.number.desc()).limit(1)
_LOCK_FIT = select(fits.c.id).where(fits.c.id == bindparam("fit")).with_for_update(key_share=True)
_IN_ORDER = _OF_FIT.order_by(attempts.c.number)
_OPEN = select(attempts).where(attempts.c.ended_at.is_(None)).order_by(attempts.c.fit_id, attempts.c.number)


class Attempts(Repository):
    """The attempts, within one unit of work."""

    def start(self, fit_id: str, number: int, token: str) -> Attempt:
        """Store and return the fit's next attempt, begun now. From here on only `token` passes the fence."""
        attempt = Attempt(fit_id, number, token, pid=None, started_at=self._now, ended_at=None, outcome=None)
        self._connection.execute(insert(attempts), values_of(attempt))
        self._changed(fit_id)
        return attempt

    def get(self, fit_id: str, number: int) -> Attempt:
        """Return the attempt; NotFound if there is none."""
        row = self._connection.execute(_GET, {"fit": fit_id, "attempt_number": number}).first()
        if row is None:
            raise NotFound(f"fit {fit_id!r} has no attempt {number}")
        return read_row(Attempt, row)

    def latest(self, fit_id: str) -> Attempt | None:
        """Return the fit's last attempt, None before the first."""
        row = self._connection.execute(_LATEST, {"fit": fit_id}).first()
        return read_optional(Attempt, row)

    def for_fit(self, fit_id: str) -> tuple[Attempt, ...]:
        """Return the fit's attempts in order."""
        return read_rows(Attempt, self._connection.execute(_IN_ORDER, {"fit": fit_id}))

    def unended(self) -> tuple[Attempt, ...]:
        """Return the attempts of all fits that have not ended: after a crash of the server, those it lost."""
        return read_rows(Attempt, self._connection.execute(_OPEN))

    def tokens(self) -> frozenset[str]:
        """Return the tokens of all attempts, also of those that have ended."""
        return frozenset(self._connection.execute(select(attempts.c.token)).scalars())

    def guard(self, fit_id: str, token: str) -> Attempt:
        """Return the attempt that `token` stands for; Conflict (`fenced`) unless it is the latest and has not ended.

        Ask this in the same unit of work as every write for a process: what a superseded one says must not count.
        """
        # A claim locks the fit, and a newer attempt is committed before its process starts: a write that passes here
        # comes either before the newer attempt exists, or not at all.
        if self._for_update:
            self._connection.execute(_LOCK_FIT, {"fit": fit_id})
        attempt = self.latest(fit_id)
        if attempt is None or attempt.token != token or attempt.ended_at is not None:
            raise Conflict(
                f"fit {fit_id} is no longer worked on by this attempt; drop what it reports and stop its process",
                code="fenced",
            )
        return attempt

    def set_pid(self, fit_id: str, number: int, pid: int) -> None:
        """Note the attempt's process."""
        self._change(fit_id, number, {"pid": pid})

    def set_received(self, fit_id: str, number: int, received: int) -> None:
        """Note the number of the last report that is stored in this unit of work."""
        self._change(fit_id, number, {"received": received})

    def end(self, fit_id: str, number: int, outcome: str) -> None:
        """Note that the attempt's process is gone, and how it ended."""
        self._change(fit_id, number, {"ended_at": self._now, "outcome": outcome})

    def end_open(self, fit_id: str, outcome: str) -> None:
        """Note that nothing works on the fit any more, if an attempt has not ended."""
        statement = update(attempts).where(attempts.c.fit_id == fit_id, attempts.c.ended_at.is_(None))
        self._connection.execute(statement.values(ended_at=self._now, outcome=outcome))
        self._changed(fit_id)

    def _change(self, fit_id: str, number: int, values: dict[str, object]) -> None:
        statement = update(attempts).where(attempts.c.fit_id == fit_id, attempts.c.number == number).values(values)
        if self._connection.execute(statement).rowcount == 0:
            raise NotFound(f"fit {fit_id!r} has no attempt {number}")
        self._changed(fit_id)
