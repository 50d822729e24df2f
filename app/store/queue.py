"""The queue in the database: whose turn it is."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, CursorResult, Select, bindparam, delete, func, insert, select, true

from app.domain.fit import AT_WORK, CLAIMABLE, FitRecord, FitState
from app.store.fits import Fits
from app.store.tables import fits, shares

_IN_TURN = fits.c.parent_id.is_(None)
_WAITING = (_IN_TURN, fits.c.state == bindparam("state"))
_OF_TENANT = (*_WAITING, fits.c.tenant == bindparam("of_tenant"))
_OF_PRIORITY = (*_OF_TENANT, fits.c.priority == bindparam("of_priority"))
# One state at a time: only so does the index of the queue give each of these without sorting the rest.
_TENANTS = select(fits.c.tenant).distinct().where(*_WAITING)
_PRIORITY = select(fits.c.priority).where(*_OF_TENANT).order_by(fits.c.priority.desc()).limit(1)
_SHARES = select(fits.c.share).distinct().where(*_OF_PRIORITY)
_FIRST = select(fits).where(*_OF_PRIORITY, fits.c.share == bindparam("of_share")).order_by(fits.c.id).limit(1)
_AT_WORK = (
    select(fits.c.tenant, fits.c.share, func.count())
    .where(_IN_TURN, fits.c.state.in_(AT_WORK))
    .group_by(fits.c.tenant, fits.c.share)
)
_TURNS = select(shares.c.name, shares.c.turn)


class _Share(NamedTuple):
    """A part of a tenant's fits that takes turns with its other parts."""

    tenant: str
    label: str

    @property
    def name(self) -> str:
        """How it is called in the table: no tenant's name has a slash."""
        return f"{self.tenant}/{self.label}"

    @classmethod
    def named(cls, name: str) -> "_Share":
        """Return what is called so."""
        tenant, _, label = name.partition("/")
        return cls(tenant, label)


class Queue:
    """Those of the `fits` that wait for a worker, within one unit of work. `now` is the time it began."""

    def __init__(self, connection: Connection, now: datetime, fits: Fits) -> None:
        self._connection = connection
        self._now = now
        self._fits = fits

    def claim(self, *, skip: Collection[str] = (), at_work_max: int | None = None) -> FitRecord | None:
        """Take the fit whose turn it is and return it as `starting`, its attempts counted up; None if none waits.

        First by tenant: the one with the fewest fits at work, of these the one whose last turn is longest ago; one
        with `at_work_max` of them has to wait. Of its fits by priority; then by share, chosen as the tenant is; then
        by age. `skip` names fits to pass over, such as those that wait before a retry.
        """
        considered = fits.c.id.not_in(skip) if skip else true()
        at_work = {_Share(tenant, label): count for tenant, label, count in self._connection.execute(_AT_WORK)}
        turns = {_Share.named(name): turn for name, turn in self._connection.execute(_TURNS)}
        waiting = {tenant for state in CLAIMABLE for tenant in self._ask(_TENANTS, considered, state).scalars()}
        tenant = _next_tenant(waiting, at_work, turns, at_work_max)
        if tenant is None:
            return None
        found = (self._ask(_PRIORITY, considered, state, of_tenant=tenant).scalar() for state in CLAIMABLE)
        place = {"of_tenant": tenant, "of_priority": max(priority for priority in found if priority is not None)}
        theirs = self._shares(considered, place)
        share = min(theirs, key=lambda share: (at_work.get(share, 0), turns.get(share, 0), share))
        others = {past for past in turns if past.tenant in waiting and past.tenant != tenant}
        self._note_turn(share, turns, {*theirs, *others, *at_work})
        first = [self._ask(_FIRST, considered, state, **place, of_share=share.label).first() for state in CLAIMABLE]
        fit = min((FitRecord(*row) for row in first if row is not None), key=lambda fit: fit.id)
        started_at = fit.started_at or self._now
        begun = fit.to(FitState.STARTING, phase="starting", attempt=fit.attempt + 1, started_at=started_at)
        return self._fits.update(begun)

    def _shares(self, considered: ColumnElement[bool], place: dict[str, Any]) -> set[_Share]:
        """Return the shares with fits in this `place`."""
        labels = (self._ask(_SHARES, considered, state, **place).scalars() for state in CLAIMABLE)
        return {_Share(place["of_tenant"], label) for found in labels for label in found}

    def _note_turn(self, share: _Share, turns: dict[_Share, int], kept: Collection[_Share]) -> None:
        """Note that it is the share's turn; those with nothing to do are forgotten, so that the table does not grow."""
        gone = [past.name for past in turns if past == share or past not in kept]
        self._connection.execute(delete(shares).where(shares.c.name.in_(gone)))
        self._connection.execute(insert(shares), {"name": share.name, "turn": max(turns.values(), default=0) + 1})

    def _ask(
        self, statement: Select[*tuple[Any, ...]], considered: ColumnElement[bool], state: FitState, **values: object
    ) -> CursorResult[*tuple[Any, ...]]:
        return self._connection.execute(statement.where(considered), {"state": state, **values})


def _next_tenant(
    waiting: Collection[str], at_work: dict[_Share, int], turns: dict[_Share, int], at_work_max: int | None
) -> str | None:
    """Return the one of the `waiting` tenants whose turn it is."""
    busy: Counter[str] = Counter()
    for share, count in at_work.items():
        busy[share.tenant] += count
    last: Counter[str] = Counter()
    for share, turn in turns.items():
        last[share.tenant] = max(turn, last[share.tenant])
    ready = [tenant for tenant in waiting if at_work_max is None or busy[tenant] < at_work_max]
    return min(ready, key=lambda tenant: (busy[tenant], last[tenant], tenant), default=None)
