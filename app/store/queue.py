"""The queue in the database: whose turn it is."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Function,
    ScalarSelect,
    Select,
    bindparam,
    func,
    select,
    text,
    true,
)

from app.domain.fit import AT_WORK, CLAIMABLE, WAITS_FOR_MEMORY, FitRecord, FitState
from app.store.fits import Fits
from app.store.repository import Repository, Transaction
from app.store.rows import read_rows
from app.store.tables import fits, shares

_TOP_LEVEL = fits.c.parent_id.is_(None)
_WAITING = (_TOP_LEVEL, fits.c.state == bindparam("state"))
# The phase is a literal, else SQLite would not see that there is an index of just these.
_FOR_MEMORY = text(f"phase = '{WAITS_FOR_MEMORY}'")
_ALL: ColumnElement[bool] = true()
_FIRST = (
    select(fits)
    .where(
        *_WAITING,
        fits.c.tenant == bindparam("of_tenant"),
        fits.c.share == bindparam("of_share"),
        fits.c.priority == bindparam("of_priority"),
    )
    .order_by(fits.c.id)
    .limit(1)
    .with_for_update(skip_locked=True, key_share=True)
)
# In the order of its index, so that no planner takes the index of all that wait instead.
_HELD = (
    select(fits)
    .where(*_WAITING, _FOR_MEMORY)
    .order_by(fits.c.priority, fits.c.id)
    .with_for_update(skip_locked=True, key_share=True)
)
_AT_WORK = (
    select(fits.c.tenant, fits.c.share, func.count())
    .where(_TOP_LEVEL, fits.c.state.in_(AT_WORK))
    .group_by(fits.c.tenant, fits.c.share)
)
_TURNS = select(shares.c.name, shares.c.turn)


def _groups(considered: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    """Return the statement of the tenants and shares that wait in one state, each with its highest priority.

    It steps from one to the next in the index of the queue, so that it reads as many entries as there are shares, not
    as many as there are fits. One state at a time: only so does the index give each of these without sorting the rest.
    """

    def find(value: Function[Any], *of: ColumnElement[bool]) -> ScalarSelect[Any]:
        return select(value).where(*_WAITING, considered, *of).scalar_subquery()

    tenant, share = fits.c.tenant, fits.c.share
    tenants = select(find(func.min(tenant)).label("tenant")).cte("tenants", recursive=True)
    tenants = tenants.union_all(
        select(find(func.min(tenant), tenant > tenants.c.tenant)).where(tenants.c.tenant.is_not(None))
    )
    first = find(func.min(share), tenant == tenants.c.tenant).label("share")
    groups = select(tenants.c.tenant, first).where(tenants.c.tenant.is_not(None)).cte("groups", recursive=True)
    following = find(func.min(share), tenant == groups.c.tenant, share > groups.c.share)
    groups = groups.union_all(select(groups.c.tenant, following).where(groups.c.share.is_not(None)))
    priority = find(func.max(fits.c.priority), tenant == groups.c.tenant, share == groups.c.share)
    return select(groups.c.tenant, groups.c.share, priority).where(groups.c.share.is_not(None))


_GROUPS = _groups(_ALL)


class _FairShareGroup(NamedTuple):
    """A part of a tenant's fits that takes turns with its other parts; or, without a label, all of them."""

    tenant: str
    label: str | None = None

    @property
    def name(self) -> str:
        """How it is called in the table: no tenant's name has a slash."""
        return self.tenant if self.label is None else f"{self.tenant}/{self.label}"

    @classmethod
    def named(cls, name: str) -> "_FairShareGroup":
        tenant, slash, label = name.partition("/")
        return cls(tenant, label if slash else None)


@dataclass(frozen=True, slots=True)
class _QueueState:
    """Of each share the highest priority that waits, how many fits are at work, and when it had its last turn."""

    waiting: Mapping[_FairShareGroup, int]
    at_work: Mapping[_FairShareGroup, int]
    turns: Mapping[_FairShareGroup, int]

    @property
    def tenants(self) -> set[str]:
        return {share.tenant for share in self.waiting}

    @property
    def next_tenant(self) -> str:
        """The tenant whose turn it is: fewest at work, then longest ago."""
        busy = _by_tenant(self.at_work)
        return min(self.tenants, key=lambda tenant: (busy[tenant], self.turns.get(_FairShareGroup(tenant), 0), tenant))

    def shares(self, tenant: str) -> list[_FairShareGroup]:
        return [share for share in self.waiting if share.tenant == tenant]

    def next_share(self, tenant: str, priority: int) -> _FairShareGroup:
        """Return the share whose turn it is, chosen as a tenant is, of those with this priority."""
        highest = [share for share in self.shares(tenant) if self.waiting[share] == priority]
        return min(highest, key=lambda share: (self.at_work.get(share, 0), self.turns.get(share, 0), share.name))


def _by_tenant(at_work: Mapping[_FairShareGroup, int]) -> Counter[str]:
    busy: Counter[str] = Counter()
    for share, count in at_work.items():
        busy[share.tenant] += count
    return busy


class Queue(Repository):
    """Those of the `fits` that wait for a worker, within one unit of work."""

    def __init__(self, transaction: Transaction, fits: Fits) -> None:
        super().__init__(transaction)
        self._fits = fits

    def claim(
        self,
        *,
        skip: Collection[str] = (),
        at_work_max: int | None = None,
        admits: Callable[[FitRecord], bool] = lambda _fit: True,
    ) -> FitRecord | None:
        """Take the fit whose turn it is and return it as `starting`, its attempts counted up.

        None if none waits, or if it is not admitted: then no other one is taken in its place.

        First by tenant: the one with the fewest fits at work, of these the one whose last turn is longest ago; one
        with `at_work_max` of them has to wait. Of its fits by priority; then those that wait for memory already; then
        by share, chosen as the tenant is; then by age. Where one waits for memory that had its turn, no other tenant
        has a turn. `skip` names fits to pass over, such as those that wait before a retry. Those that others are
        claiming at this moment are passed over too.
        """
        if at_work_max is not None:
            self._dialect.lock(self._connection, "claims")  # else two could each count without the other's
        considered = fits.c.id.not_in(skip) if skip else _ALL
        queue_state = self._read_state(considered, at_work_max)
        if not queue_state.waiting:
            return None
        fit = self._next(considered, queue_state)
        if fit is None or not admits(fit):
            return None
        self._record_turn(_FairShareGroup(fit.tenant, fit.share), queue_state)
        started_at = fit.started_at or self._now
        begun = fit.to(FitState.STARTING, phase="starting", attempt=fit.attempt + 1, started_at=started_at)
        return self._fits.update(begun)

    def _next(self, considered: ColumnElement[bool], queue_state: _QueueState) -> FitRecord | None:
        held = self._found(_HELD, considered)
        tenant = queue_state.next_tenant
        others = [fit for fit in held if fit.tenant in queue_state.tenants - {tenant}]
        if others:
            return others[0]
        priority = max(queue_state.waiting[share] for share in queue_state.shares(tenant))
        theirs = [fit for fit in held if fit.tenant == tenant and fit.priority == priority]
        if theirs:
            return theirs[0]
        share = queue_state.next_share(tenant, priority)
        place = {"of_tenant": tenant, "of_share": share.label, "of_priority": priority}
        return next(iter(self._found(_FIRST, considered, **place)), None)

    def _read_state(self, considered: ColumnElement[bool], at_work_max: int | None) -> _QueueState:
        at_work = {_FairShareGroup(tenant, label): count for tenant, label, count in self._connection.execute(_AT_WORK)}
        busy = _by_tenant(at_work)
        groups = _GROUPS if considered is _ALL else _groups(considered)
        waiting: dict[_FairShareGroup, int] = {}
        for state in CLAIMABLE:
            for tenant, label, priority in self._connection.execute(groups, {"state": state}):
                if at_work_max is None or busy[tenant] < at_work_max:
                    share = _FairShareGroup(tenant, label)
                    waiting[share] = max(priority, waiting.get(share, priority))
        turns = {_FairShareGroup.named(name): turn for name, turn in self._connection.execute(_TURNS)}
        return _QueueState(waiting, at_work, turns)

    def _record_turn(self, share: _FairShareGroup, queue_state: _QueueState) -> None:
        """Note that a share has its turn, and its tenant with it."""
        served = {share, _FairShareGroup(share.tenant)}
        # What has nothing to do is forgotten, so that the table does not grow with all that ever were.
        busy = {*queue_state.waiting, *queue_state.at_work}
        busy |= {_FairShareGroup(each.tenant) for each in busy}
        gone = [past.name for past in queue_state.turns if past not in served and past not in busy]
        turn = max(queue_state.turns.values(), default=0) + 1
        self._dialect.record_turns(self._connection, [each.name for each in served], turn, gone)

    def _found(
        self, statement: Select[*tuple[Any, ...]], considered: ColumnElement[bool], **values: object
    ) -> list[FitRecord]:
        """Return what a statement finds of the fits in each of the states in which they wait, the oldest first."""
        rows = (row for state in CLAIMABLE for row in self._ask(statement, considered, state, **values))
        return sorted(read_rows(FitRecord, rows), key=lambda fit: fit.id)

    def _ask(
        self, statement: Select[*tuple[Any, ...]], considered: ColumnElement[bool], state: FitState, **values: object
    ) -> CursorResult[*tuple[Any, ...]]:
        statement = statement if considered is _ALL else statement.where(considered)
        return self._connection.execute(statement, {"state": state, **values})
