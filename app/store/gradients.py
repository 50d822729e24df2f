"""Captured gradients in the database, by step and parameter."""

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, bindparam, func, insert, select, tuple_

from app.domain.records import GradientRecord
from app.store.blob_references import is_damaged
from app.store.pages import Page, PageRequest, decode_cursor, encode_cursor
from app.store.repository import Repository
from app.store.rows import read_optional, read_rows
from app.store.tables import gradients, values_of

STEPS_TOLD = 20
_PLACE = re.compile(r"(0|[1-9][0-9]{0,15})/(.{1,64})", re.DOTALL)
_OF_FIT = gradients.c.fit_id == bindparam("fit")
_RECORD: Select[Any] = select(*gradients.c, is_damaged(gradients.c.digest))
_FIND = _RECORD.where(_OF_FIT, gradients.c.step == bindparam("at"), gradients.c.parameter == bindparam("name"))
_LATEST = _RECORD.where(_OF_FIT, gradients.c.parameter == bindparam("name")).order_by(gradients.c.step.desc()).limit(1)
_STEPS = select(gradients.c.step).distinct().where(_OF_FIT).order_by(gradients.c.step)
_PARAMETERS = select(gradients.c.parameter).distinct().where(_OF_FIT).order_by(gradients.c.parameter)
_LAST_STEP = select(func.max(gradients.c.step)).where(_OF_FIT)


class Gradients(Repository):
    """The captured gradients, within one unit of work."""

    def add(self, gradient: GradientRecord) -> GradientRecord | None:
        """Store a gradient, whose blob must be durable by now; if there is one already, that stays and is returned."""
        stored = self.find(gradient.fit_id, gradient.parameter, gradient.step)
        if stored is None:
            self._connection.execute(insert(gradients), values_of(gradient))
        return stored

    def find(self, fit_id: str, parameter: str, step: int | None = None) -> GradientRecord | None:
        """Return the gradient at `step`, by default the latest; None if none was captured there."""
        wanted = {"fit": fit_id, "name": parameter}
        latest = step is None
        row = self._connection.execute(
            _LATEST if latest else _FIND, wanted if latest else {**wanted, "at": step}
        ).first()
        return read_optional(GradientRecord, row)

    def list(
        self, fit_id: str, page: PageRequest, *, step: int | None = None, parameter: str | None = None
    ) -> Page[GradientRecord]:
        """Return a page of the fit's gradients by step, then by parameter; of one step or parameter where given."""
        statement = _RECORD.where(gradients.c.fit_id == fit_id)
        if step is not None:
            statement = statement.where(gradients.c.step == step)
        if parameter is not None:
            statement = statement.where(gradients.c.parameter == parameter)
        columns = (gradients.c.step, gradients.c.parameter)
        place = tuple_(*columns)
        descending = page.order == "desc"
        if page.cursor is not None:
            last_step, last_parameter = decode_cursor(page.cursor, _PLACE).split("/", 1)
            last = tuple_(int(last_step), last_parameter, types=[column.type for column in columns])
            statement = statement.where(place < last if descending else place > last)
        statement = statement.order_by(*(column.desc() if descending else column for column in columns))
        # One row more than requested shows whether there is a next page.
        rows = self._connection.execute(statement.limit(page.limit + 1)).all()
        items = read_rows(GradientRecord, rows[: page.limit])
        more = len(rows) > len(items) > 0
        return Page(items, encode_cursor(f"{items[-1].step}/{items[-1].parameter}") if more else None)

    def steps(self, fit_id: str) -> Sequence[int]:
        """Return the first few steps at which something was captured, and the last."""
        wanted = {"fit": fit_id}
        steps = [*self._connection.execute(_STEPS.limit(STEPS_TOLD), wanted).scalars()]
        last = self._connection.execute(_LAST_STEP, wanted).scalar()
        return steps if last is None or last in steps else [*steps, last]

    def parameters(self, fit_id: str) -> Sequence[str]:
        """Return the names of the parameters whose gradients were captured, a few at most."""
        return [*self._connection.execute(_PARAMETERS.limit(STEPS_TOLD), {"fit": fit_id}).scalars()]
