"""A fit's journal in the database: events by `seq`, and among them the metric rows by `metric_seq`."""

from collections.abc import Collection, Sequence
from itertools import islice

from sqlalchemy import bindparam, func, insert, select, update

from app.domain.clock import add_time
from app.domain.errors import Conflict
from app.domain.fit import Event, EventKind
from app.store.repository import Repository
from app.store.tables import events, to_microseconds, values_of

# SQLite's oldest limit of variables in a statement is 999.
CHUNK = 900

_OF_FIT = events.c.fit_id == bindparam("fit")
_LAST_SEQ = select(func.max(events.c.seq)).where(_OF_FIT)
_LAST_METRIC_SEQ = select(func.max(events.c.metric_seq)).where(_OF_FIT)
# Each in a query of its own, which reads one entry of an index; two in one would read all events of the fit.
_LAST_SEQS = select(_LAST_SEQ.scalar_subquery(), _LAST_METRIC_SEQ.scalar_subquery())
_AFTER = (
    select(events).where(_OF_FIT, events.c.seq > bindparam("after")).order_by(events.c.seq).limit(bindparam("most"))
)
# The index of metric rows holds all other events together, in order: metric rows are not even read.
_OTHERS_AFTER = _AFTER.where(events.c.metric_seq.is_(None))
_METRICS_AFTER = (
    select(events)
    .where(_OF_FIT, events.c.metric_seq > bindparam("after"))
    .order_by(events.c.metric_seq)
    .limit(bindparam("most"))
)
_METRIC_ROWS = _METRICS_AFTER.with_only_columns(events.c.metric_seq, events.c.body)
_TIMED_ROWS = _METRICS_AFTER.with_only_columns(events.c.metric_seq, events.c.body, events.c.created_at)
# Without an order SQLite reads all events of the fit, by their primary key, in place of a few by this index.
_METRIC_BODIES = (
    select(events.c.metric_seq, events.c.body, events.c.created_at)
    .where(_OF_FIT, events.c.metric_seq.in_(bindparam("metric_seqs", expanding=True)))
    .order_by(events.c.metric_seq)
)
_REOPEN = (
    update(events)
    .where(_OF_FIT, events.c.seq == bindparam("last"), events.c.kind == "end")
    .values(kind="log", body=bindparam("log_body"))
)


class Events(Repository):
    """The journals, within one unit of work."""

    def append(self, fit_id: str, kind: EventKind, body: str, metric_seq: int | None = None) -> Event:
        """Store `body` (JSON text) as the fit's next event and return it with its `seq`."""
        event = Event(fit_id, self.last_seq(fit_id) + 1, kind, body, metric_seq, self._now)
        self._connection.execute(insert(events), values_of(event))
        self._changed(fit_id)
        return event

    def append_metrics(self, fit_id: str, rows: Sequence[tuple[int, str]]) -> int:
        """Store `rows` (metric_seq, JSON text) as the fit's next events and return the `seq` of the last event.

        Conflict (`metric_gap`) unless they go on where the stored rows end, without a gap: a row that is stored does
        not change, so leave out those that a resumed fit has made again.
        """
        seq, last_metric_seq = (last or 0 for last in self._connection.execute(_LAST_SEQS, {"fit": fit_id}).one())
        first = last_metric_seq + 1
        if any(metric_seq != expected for expected, (metric_seq, _) in enumerate(rows, first)):
            raise Conflict(
                f"the metric rows of fit {fit_id} must go on at {first} without a gap; got {rows[0][0]} to "
                f"{rows[-1][0]}",
                code="metric_gap",
            )
        if not rows:
            return seq
        bodies = [body for _, body in rows]
        self._dialect.insert_metrics(self._connection, fit_id, bodies, (seq + 1, first), to_microseconds(self._now))
        self._changed(fit_id)
        return seq + len(rows)

    def reopen(self, fit_id: str, body: str) -> None:
        """Put a log event with `body` (JSON text) in the place of the `end` event, if there is one: more will follow.

        It keeps its `seq`, so that a client that has seen the end reads on from there.
        """
        self._connection.execute(_REOPEN, {"fit": fit_id, "last": self.last_seq(fit_id), "log_body": body})
        self._changed(fit_id)

    def after(self, fit_id: str, seq: int, limit: int, *, metrics: bool = True) -> list[Event]:
        """Return at most `limit` events that follow `seq`, in order; only other events than metric rows on request."""
        statement = _AFTER if metrics else _OTHERS_AFTER
        found = self._connection.execute(statement, {"fit": fit_id, "after": seq, "most": limit})
        return [Event(*row) for row in found.all()]

    def metrics(self, fit_id: str, after: int, limit: int) -> list[Event]:
        """Return at most `limit` metric events whose `metric_seq` follows `after`, in order."""
        found = self._connection.execute(_METRICS_AFTER, {"fit": fit_id, "after": after, "most": limit})
        return [Event(*row) for row in found.all()]

    def metric_rows(self, fit_id: str, after: int, limit: int, *, timestamps: bool = False) -> list[tuple[int, str]]:
        """Return `metrics` as bare (metric_seq, JSON text): for readers of very many that keep a few.

        With `timestamps` the text holds the time at which the row was stored, see `add_time`.
        """
        parameters = {"fit": fit_id, "after": after, "most": limit}
        if timestamps:
            timed = self._connection.execute(_TIMED_ROWS, parameters)
            return [(metric_seq, add_time(body, created_at)) for metric_seq, body, created_at in timed.all()]
        found = self._connection.execute(_METRIC_ROWS, parameters)
        return [(metric_seq, body) for metric_seq, body in found.all()]

    def metric_bodies(self, fit_id: str, metric_seqs: Collection[int], *, timestamps: bool = False) -> dict[int, str]:
        """Return the stored JSON text of these metric rows, of as many as there are; `timestamps` as above."""
        bodies: dict[int, str] = {}
        remaining = iter(metric_seqs)
        while chunk := [*islice(remaining, CHUNK)]:
            found = self._connection.execute(_METRIC_BODIES, {"fit": fit_id, "metric_seqs": chunk})
            for metric_seq, body, created_at in found.all():
                bodies[metric_seq] = add_time(body, created_at) if timestamps else body
        return bodies

    def last_seq(self, fit_id: str) -> int:
        """Return the `seq` of the fit's last event, 0 if there is none."""
        return self._connection.execute(_LAST_SEQ, {"fit": fit_id}).scalar() or 0

    def last_metric_seq(self, fit_id: str) -> int:
        """Return the `metric_seq` of the fit's last metric row, 0 if there is none."""
        return self._connection.execute(_LAST_METRIC_SEQ, {"fit": fit_id}).scalar() or 0
