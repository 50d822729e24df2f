"""Which fits have been kept long enough."""

from datetime import datetime

from sqlalchemy import Connection, exists, false, func, or_, select, union

from app.domain.fit import TERMINAL
from app.store.tables import checkpoints, fits

KEEP_LABEL, KEEP = "keep", "true"

_fit = fits.alias("fit")
_fork = fits.alias("fork")
_label = func.json_each(_fit.c.labels).table_valued("key", "value")
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
    .join_from(_fit, _fork, func.json_extract(_fork.c.origin, "$.fit") == _fit.c.id)
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
