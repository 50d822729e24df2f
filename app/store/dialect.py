"""What units of work do in another way in each kind of database, beyond what SQLAlchemy spells for each."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from sqlalchemy import Connection, delete, insert

from app.store.tables import shares

# Text for the driver: an insert compiled row by row from an expression costs three times as much.
_INSERT_METRIC = "INSERT INTO events (fit_id, seq, kind, body, metric_seq, created_at) VALUES (?, ?, 'metric', ?, ?, ?)"


class Dialect(Protocol):
    """The ways of a kind of database."""

    @property
    def locks_rows(self) -> bool:
        """Whether units of work run beside one another, so that they lock what they read to change it."""
        ...

    def lock(self, connection: Connection, name: str) -> None:
        """Let no other unit of work that locks this name go on before this one ends."""
        ...

    def clock(self, connection: Connection, now: datetime) -> datetime:
        """Return the time of the one clock that all servers share, which is `now` on a server's own."""
        ...

    def insert_metrics(
        self, connection: Connection, fit_id: str, bodies: Sequence[str], first: tuple[int, int], created_at: int
    ) -> None:
        """Insert metric rows one after the other from the `first` on, a `seq` and a `metric_seq`."""
        ...

    def record_turns(self, connection: Connection, served: Collection[str], turn: int, gone: Collection[str]) -> None:
        """Note that the shares of these names had this turn, and forget those that are gone."""
        ...


class SqliteDialect:
    """Units of work take turns, so there is nothing to lock."""

    locks_rows = False

    def lock(self, connection: Connection, name: str) -> None:
        """Do nothing."""

    def clock(self, connection: Connection, now: datetime) -> datetime:  # noqa: ARG002 (there is one server)
        """Return `now`."""
        return now

    def insert_metrics(
        self, connection: Connection, fit_id: str, bodies: Sequence[str], first: tuple[int, int], created_at: int
    ) -> None:
        """Insert the rows as the driver does it fastest."""
        seq, metric_seq = first
        rows = [(fit_id, seq + place, body, metric_seq + place, created_at) for place, body in enumerate(bodies)]
        connection.exec_driver_sql(_INSERT_METRIC, rows)

    def record_turns(self, connection: Connection, served: Collection[str], turn: int, gone: Collection[str]) -> None:
        """Replace the rows."""
        connection.execute(delete(shares).where(shares.c.name.in_([*gone, *served])))
        connection.execute(insert(shares), [{"name": name, "turn": turn} for name in served])


SQLITE = SqliteDialect()
