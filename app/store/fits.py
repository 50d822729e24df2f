"""Fits in the database, and which of them retention may delete."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, exists, false, func, insert, or_, select, union, update

from app.domain.errors import Conflict
from app.domain.fit import AT_WORK, TERMINAL, FitRecord, FitState, VariantState
from app.store.expressions import json_entries, json_text
from app.store.lists import ALL, FITS, Filters
from app.store.pages import Page, PageRequest, assign_tenant, owned
from app.store.rows import existing, read_row, read_rows, row_reader
from app.store.tables import checkpoints, fits, values_of

FIXED = ("id", "tenant")

_GET = select(fits).where(fits.c.id == bindparam("fit_id"), owned(fits))
_LOCK = _GET.with_for_update(key_share=True)
_UPDATE = (
    update(fits)
    .where(fits.c.id == bindparam("expected_id"), fits.c.version == bindparam("expected_version"))
    .values({column: bindparam(column.name) for column in fits.c if column.name not in FIXED})
)
_UNFINISHED = select(fits).where(fits.c.state.not_in(TERMINAL)).order_by(fits.c.id)
_IN_TURN = fits.c.parent_id.is_(None)
_COUNT = select(fits.c.state, func.count()).where(_IN_TURN).group_by(fits.c.state)
_COUNT_IN = (
    select(func.count()).select_from(fits).where(_IN_TURN, fits.c.state.in_(bindparam("states", expanding=True)))
)
_COUNT_OWN = _COUNT_IN.where(owned(fits))
_VARIANTS = select(fits).where(fits.c.parent_id == bindparam("parent")).order_by(fits.c.id)
_STANDINGS = _VARIANTS.with_only_columns(
    fits.c.id.label("fit_id"), fits.c.state, fits.c.step, fits.c.total_steps, fits.c.latest, fits.c.best, fits.c.variant
)
_WAITING_UNTIL = (_IN_TURN, fits.c.finished_at.is_(None), fits.c.state.not_in(AT_WORK))
_OVERDUE = select(fits).where(*_WAITING_UNTIL, fits.c.deadline_at <= bindparam("now")).order_by(fits.c.deadline_at)
_NEXT_DEADLINE = select(func.min(fits.c.deadline_at)).where(*_WAITING_UNTIL, fits.c.deadline_at > bindparam("now"))


class Fits:
    """The fits of a tenant, or of all, within one unit of work.

    `now` is the time it began, `changed` is called with each that is changed.
    """

    def __init__(
        self,
        connection: Connection,
        tenant: str | None,
        now: datetime,
        changed: Callable[[str], None],
        *,
        for_update: bool = False,
    ) -> None:
        self._connection = connection
        self._tenant = tenant
        self._now = now
        self._changed = changed
        self._get = _LOCK if for_update else _GET

    def add(self, fit: FitRecord) -> None:
        """Store a new fit."""
        self._connection.execute(insert(fits), values_of(assign_tenant(self._tenant, fit)))

    def get(self, fit_id: str) -> FitRecord:
        """Return the fit; NotFound if there is none."""
        row = self._connection.execute(self._get, {"fit_id": fit_id, "whose": self._tenant}).first()
        return read_row(FitRecord, existing(row, "fit", fit_id))

    def list(
        self,
        page: PageRequest,
        filters: Filters = ALL,
        *,
        parent: str | None = None,
        origin: str | None = None,
    ) -> Page[FitRecord]:
        """Return a page of the fits that meet `filters`, and that were forked from the fit `origin` if it is given.

        Of the variants of sweeps only those of `parent` are listed, and then nothing else.
        """
        statement = select(fits).where(_IN_TURN if parent is None else fits.c.parent_id == parent)
        if origin is not None:
            statement = statement.where(json_text(fits.c.origin, "fit") == origin)
        return FITS.fetch(self._connection, statement, self._tenant, page, filters, row_reader(FitRecord))

    def unfinished(self) -> tuple[FitRecord, ...]:
        """Return every fit that is not terminal, oldest first."""
        return read_rows(FitRecord, self._connection.execute(_UNFINISHED))

    def overdue(self) -> tuple[FitRecord, ...]:
        """Return the fits that wait, for a worker or a client, and whose deadline is over."""
        return read_rows(FitRecord, self._connection.execute(_OVERDUE, {"now": self._now}))

    def next_deadline(self) -> datetime | None:
        """Return the next deadline of a fit that waits, None if there is none."""
        return self._connection.execute(_NEXT_DEADLINE, {"now": self._now}).scalar()

    def variants(self, parent_id: str) -> tuple[FitRecord, ...]:
        """Return the variants of a sweep in their order."""
        return read_rows(FitRecord, self._connection.execute(_VARIANTS, {"parent": parent_id}))

    def standings(self, parent_id: str) -> tuple[VariantState, ...]:
        """Return how far the variants of a sweep are, in their order."""
        return read_rows(VariantState, self._connection.execute(_STANDINGS, {"parent": parent_id}))

    def count_by_state(self) -> dict[FitState, int]:
        """Return how many fits of all tenants are in each state, a sweep being one; states without fits count 0."""
        counts = dict.fromkeys(FitState, 0)
        counts.update((state, count) for state, count in self._connection.execute(_COUNT))
        return counts

    def count(self, states: Collection[FitState]) -> int:
        """Return how many fits of all tenants are in one of `states`, a sweep being one.

        Its cost grows with that number only.
        """
        return self._connection.execute(_COUNT_IN, {"states": list(states)}).scalar_one()

    def count_own(self, states: Collection[FitState]) -> int:
        """Return `count` of the tenant's fits only."""
        wanted = {"states": list(states), "whose": self._tenant}
        return self._connection.execute(_COUNT_OWN, wanted).scalar_one()

    def update(self, fit: FitRecord) -> FitRecord:
        """Store the changed fit and return it with its new version.

        Conflict (`stale_version`) if it was changed since `fit` was read if it was deleted.
        """
        stored = replace(fit, version=fit.version + 1)
        values = {**values_of(stored), "expected_id": fit.id, "expected_version": fit.version}
        for name in FIXED:
            values.pop(name)
        if self._connection.execute(_UPDATE, values).rowcount == 0:
            present = self.get(fit.id).version
            raise Conflict(
                f"fit {fit.id} has been changed: it is at version {present}, not {fit.version}; read it again",
                code="stale_version",
            )
        self._changed(fit.id)
        if fit.parent_id is not None:
            self._changed(fit.parent_id)  # which shows how its variants stand
        return stored

    def delete(self, fit_id: str) -> None:
        """Forget the fit and its variants, with their attempts, events and checkpoints; NotFound if there is none."""
        parent = self.get(fit_id).parent_id
        self._connection.execute(delete(fits).where(fits.c.id == fit_id))
        variants = self._connection.execute(delete(fits).where(fits.c.parent_id == fit_id).returning(fits.c.id))
        for changed in (fit_id, *variants.scalars(), *([] if parent is None else [parent])):
            self._changed(changed)


KEEP_LABEL, KEEP = "keep", "true"

_fit = fits.alias("fit")
_fork = fits.alias("fork")
_label = json_entries(_fit.c.labels)
# A sweep is kept with all its variants as soon as one of them is to be kept.
_FAMILY = func.coalesce(_fit.c.parent_id, _fit.c.id)
_LABELLED = select(_FAMILY).where(
    _fit.c.labels != {}, exists().where(_label.c.key == KEEP_LABEL, _label.c.value == KEEP)
)
_PINNED = (
    select(_FAMILY)
    .join_from(_fit, checkpoints, checkpoints.c.fit_id == _fit.c.id)
    .where(checkpoints.c.pinned, checkpoints.c.deleted == false())
)
_FORKED = (
    select(_FAMILY)
    .join_from(_fit, _fork, json_text(_fork.c.origin, "fit") == _fit.c.id)
    .where(_fork.c.origin.is_not(None), _fork.c.state.not_in(TERMINAL))
)
_EXPENDABLE = (
    select(
        fits.c.id,
        fits.c.finished_at,
        func.row_number().over(order_by=(fits.c.finished_at.desc(), fits.c.id.desc())).label("place"),
    )
    .where(
        fits.c.parent_id.is_(None),
        fits.c.state.in_(TERMINAL),
        fits.c.id.not_in(union(_LABELLED, _PINNED, _FORKED)),
    )
    .subquery()
)


class Retention:
    """The fits that may go, within one unit of work.

    Never one that goes on, is labelled `keep: "true"`, has a pinned checkpoint, or is what a fit that goes on was
    forked from; nor a sweep with such a variant. They do not count either.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def expired(self, before: datetime | None, newest: int | None, limit: int) -> tuple[str, ...]:
        """Return fits that ended before that moment, or are not among the `newest`; at most `limit`, oldest first.

        None stands for no such bound.
        """
        bounds = [] if before is None else [_EXPENDABLE.c.finished_at < before]
        bounds += [] if newest is None else [_EXPENDABLE.c.place > newest]
        statement = select(_EXPENDABLE.c.id).where(or_(false(), *bounds))
        statement = statement.order_by(_EXPENDABLE.c.finished_at, _EXPENDABLE.c.id).limit(limit)
        return tuple(self._connection.execute(statement).scalars())
