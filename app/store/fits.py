"""Fits in the database, and which of them retention may delete."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import bindparam, delete, exists, false, func, or_, select, union

from app.domain.fit import AT_WORK, TERMINAL, FitRecord, FitState, VariantState
from app.store.expressions import json_entries, json_text
from app.store.lists import ALL, FITS, Filters
from app.store.pages import Page, PageRequest, owned
from app.store.repository import Repository, VersionedResources, by_id, versioned_update
from app.store.rows import existing, read_rows, row_reader
from app.store.tables import checkpoints, fits

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
_SWEEP_ID = select(fits.c.parent_id).where(fits.c.id == bindparam("wanted")).scalar_subquery()
_GET_FAMILY = (
    select(fits)
    .where(or_(fits.c.id == bindparam("wanted"), fits.c.id == _SWEEP_ID), owned(fits))
    .order_by(fits.c.parent_id.is_not(None))
)


class Fits(VersionedResources[FitRecord]):
    """The fits of a tenant, or of all, within one unit of work."""

    _table = fits
    _noun = "fit"
    _record = FitRecord
    _get = by_id(select(fits), fits)
    _lock = _GET_FAMILY.with_for_update(key_share=True)
    _update = versioned_update(fits)

    def get(self, resource_id: str) -> FitRecord:
        """Return the fit with this id; NotFound if there is none.

        To change a variant, its sweep is locked as well, and first: a report of a sweep locks that before its variants.
        """
        if not self._for_update:
            return super().get(resource_id)
        family = self._connection.execute(self._lock, {"wanted": resource_id, "whose": self._tenant}).all()
        found = family[-1] if family and family[-1].id == resource_id else None
        return self._read(existing(found, self._noun, resource_id))

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

    def update(self, record: FitRecord) -> FitRecord:
        """Store the changed fit; see `VersionedResources.update`. The sweep of a variant has changed, too."""
        stored = super().update(record)
        if record.parent_id is not None:
            self._changed(record.parent_id)  # which shows how its variants stand
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


class Retention(Repository):
    """The fits that may go, within one unit of work.

    Never one that goes on, is labelled `keep: "true"`, has a pinned checkpoint, or is what a fit that goes on was
    forked from; nor a sweep with such a variant. They do not count either.
    """

    def expired(self, before: datetime | None, newest: int | None, limit: int) -> tuple[str, ...]:
        """Return fits that ended before that moment, or are not among the `newest`; at most `limit`, oldest first.

        None stands for no such bound.
        """
        bounds = [] if before is None else [_EXPENDABLE.c.finished_at < before]
        bounds += [] if newest is None else [_EXPENDABLE.c.place > newest]
        statement = select(_EXPENDABLE.c.id).where(or_(false(), *bounds))
        statement = statement.order_by(_EXPENDABLE.c.finished_at, _EXPENDABLE.c.id).limit(limit)
        return tuple(self._connection.execute(statement).scalars())
