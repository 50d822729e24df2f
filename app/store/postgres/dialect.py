"""PostgreSQL's dialect: advisory locks, rows in arrays, and rows claimed without waiting."""

import hashlib
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection

_LOCK = "SELECT pg_advisory_xact_lock(%s)"

# The texts in binary form (%b): the driver takes seven times as long to quote them.
_INSERT_METRICS = """
INSERT INTO events (fit_id, seq, kind, body, metric_seq, created_at)
SELECT %s, %s + place, 'metric', body, %s + place, %s
FROM unnest(%b::text[]) WITH ORDINALITY AS row (body, place)
"""

# Whose row is locked is having a turn at this moment: that one notes it.
_FORGET = """
DELETE FROM shares WHERE name IN (SELECT name FROM shares WHERE name = ANY(%s::text[]) FOR UPDATE SKIP LOCKED)
"""
_SERVE = """
UPDATE shares SET turn = %s
WHERE name IN (SELECT name FROM shares WHERE name = ANY(%s::text[]) ORDER BY name FOR UPDATE SKIP LOCKED)
"""
_ENTER = """
INSERT INTO shares (name, turn)
SELECT name, %s FROM unnest(%s::text[]) AS served (name)
WHERE NOT EXISTS (SELECT FROM shares WHERE shares.name = served.name) ORDER BY name
ON CONFLICT DO NOTHING
"""


class PostgresDialect:
    """Units of work run beside one another, and lock the rows that they decide on."""

    locks_rows = True

    def lock(self, connection: Connection, name: str) -> None:
        """Wait for the other units of work that have locked the name."""
        key = int.from_bytes(hashlib.sha256(f"adjoint/{name}".encode()).digest()[:8], signed=True)
        connection.exec_driver_sql(_LOCK, (key,))

    def clock(self, connection: Connection, now: datetime) -> datetime:  # noqa: ARG002 (clocks of servers differ)
        """Return the time of PostgreSQL's clock."""
        found: datetime = connection.exec_driver_sql("SELECT clock_timestamp()").scalar_one()
        return found.astimezone(UTC)

    def insert_metrics(
        self, connection: Connection, fit_id: str, bodies: Sequence[str], first: tuple[int, int], created_at: int
    ) -> None:
        """Insert the rows in one statement."""
        seq, metric_seq = first  # the places count from 1
        connection.exec_driver_sql(_INSERT_METRICS, (fit_id, seq - 1, metric_seq - 1, created_at, [*bodies]))

    def record_turns(self, connection: Connection, served: Collection[str], turn: int, gone: Collection[str]) -> None:
        """Note the turns, without waiting for who notes one of the same shares: that one came just before."""
        if gone:
            connection.exec_driver_sql(_FORGET, ([*gone],))
        connection.exec_driver_sql(_SERVE, (turn, [*served]))
        connection.exec_driver_sql(_ENTER, (turn, [*served]))
