"""The queue in the database: whose turn it is."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    CursorResult,
    Select,
    bindparam,
    delete,
    func,
    insert,
    select,
    text,
    true,
)

from app.domain.fit import AT_WORK, CLAIMABLE, WAITS_FOR_MEMORY, FitRecord, FitState
from app.store.fits import Fits
from app.store.tables import fits, shares

_IN_TURN = fits.c.parent_id.is_(None)
_WAITING = (_IN_TURN, fits.c.state == bindparam("state"))
_OF_PRIORITY = (*_WAITING, fits.c.priority == bindparam("of_priority"))
# One state at a time: only so does the index of the queue give each of these without sorting the rest.
_PRIORITY = select(fits.c.priority).where(*_WAITING).order_by(fits.c.priority.desc()).limit(1)
_SHARES = select(fits.c.share).distinct().where(*_OF_PRIORITY)
_FIRST = select(fits).where(*_OF_PRIORITY, fits.c.share == bindparam("of_share")).order_by(fits.c.id).limit(1)
# The phase is spelled out, else SQLite would not see that there is an index of just these.
_HELD = select(fits).where(*_OF_PRIORITY, text(f"phase = '{WAITS_FOR_MEMORY}'")).order_by(fits.c.id).limit(1)
_AT_WORK = select(fits.c.share, func.count()).where(_IN_TURN, fits.c.state.in_(AT_WORK)).group_by(fits.c.share)
_TURNS = select(shares.c.name, shares.c.turn)


@dataclass(frozen=True, slots=True)
class _Shares:
    """Which shares wait, how many fits of each are at work, and when each last had its turn."""

    waiting: Collection[str]
    at_work: Mapping[str, int]
    turns: Mapping[str, int]

    @property
    def next(self) -> str:
        """The share whose turn it is."""
        return min(self.waiting, key=lambda share: (self.at_work.get(share, 0), self.turns.get(share, 0), share))


class Queue:
    """Those of the `fits` that wait for a worker, within one unit of work. `now` is the time it began."""

    def __init__(self, connection: Connection, now: datetime, fits: Fits) -> None:
        self._connection = connection
        self._now = now
        self._fits = fits

    def claim(
        self, *, skip: Collection[str] = (), admits: Callable[[FitRecord], bool] = lambda _fit: True
    ) -> FitRecord | None:
        """Take the fit whose turn it is and return it as `starting`, its attempts counted up.

        None if none waits, or if it is not admitted: then no other one is taken in its place. First by priority; then
        those that wait for memory already; then by share: the one with the fewest fits at work, of these the one whose
        last turn is longest ago; then by age. `skip` names fits to pass over, such as those that wait before a retry.
        """
        considered = fits.c.id.not_in(skip) if skip else true()
        priorities = [self._ask(_PRIORITY, considered, state).scalar() for state in CLAIMABLE]
        waiting = [priority for priority in priorities if priority is not None]
        if not waiting:
            return None
        highest = max(waiting)
        standing = self._shares(highest, considered)
        held = self._oldest(_HELD, considered, highest)
        share = standing.next if held is None else held.share
        fit = held or self._oldest(_FIRST, considered, highest, of_share=share)
        assert fit is not None
        if not admits(fit):
            return None
        self._note_turn(share, standing)
        started_at = fit.started_at or self._now
        begun = fit.to(FitState.STARTING, phase="starting", attempt=fit.attempt + 1, started_at=started_at)
        return self._fits.update(begun)

    def _oldest(
        self,
        statement: Select[*tuple[Any, ...]],
        considered: ColumnElement[bool],
        priority: int,
        **values: object,
    ) -> FitRecord | None:
        """Return the older one of the fits that a statement finds in each of the states in which fits wait."""
        found = [self._ask(statement, considered, state, of_priority=priority, **values).first() for state in CLAIMABLE]
        return min((FitRecord(*row) for row in found if row is not None), key=lambda fit: fit.id, default=None)

    def _shares(self, priority: int, considered: ColumnElement[bool]) -> _Shares:
        waiting = {
            share
            for state in CLAIMABLE
            for share in self._ask(_SHARES, considered, state, of_priority=priority).scalars()
        }
        at_work: dict[str, int] = dict(map(tuple, self._connection.execute(_AT_WORK)))
        return _Shares(waiting, at_work, dict(map(tuple, self._connection.execute(_TURNS))))

    def _note_turn(self, chosen: str, standing: _Shares) -> None:
        """Note that a share has had its turn."""
        # A share with nothing to do is forgotten, so that the table does not grow with all that ever were.
        turns, busy = standing.turns, {*standing.waiting, *standing.at_work}
        gone = [name for name in turns if name == chosen or name not in busy]
        self._connection.execute(delete(shares).where(shares.c.name.in_(gone)))
        self._connection.execute(insert(shares), {"name": chosen, "turn": max(turns.values(), default=0) + 1})

    def _ask(
        self, statement: Select[*tuple[Any, ...]], considered: ColumnElement[bool], state: FitState, **values: object
    ) -> CursorResult[*tuple[Any, ...]]:
        return self._connection.execute(statement.where(considered), {"state": state, **values})
