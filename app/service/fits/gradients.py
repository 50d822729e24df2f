"""Captured gradients: lists, values and statistics."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from numpy.typing import NDArray

import engine
from app.domain.errors import Finding, Invalid, NotFound
from app.domain.records import GradientRecord
from app.ingest.stored_arrays import map_array
from app.service.resources.blobs import Integrity
from app.store.pages import Page, PageRequest
from app.store.unit_of_work import Store, UnitOfWork


class Gradients:
    """The use cases of captured gradients, which never change."""

    def __init__(self, store: Store, integrity: Integrity) -> None:
        self._store = store
        self._integrity = integrity

    def list(
        self, fit_id: str, page: PageRequest, *, step: int | None = None, parameter: str | None = None
    ) -> Page[GradientRecord]:
        """Return a page of the fit's captured gradients, optionally of one step or parameter; raise NotFound without
        fit.
        """
        with self._store.read() as work:
            work.fits.get(fit_id)
            found = work.gradients.list(fit_id, page, step=step, parameter=parameter)
            if not found.items and page.cursor is None and (step, parameter) != (None, None):
                _check_filter(work, fit_id, step, parameter)
            return found

    def find(self, fit_id: str, parameter: str, step: int | None = None) -> GradientRecord:
        """Return the gradient captured at `step`, by default the latest; NotFound lists the captured ones."""
        with self._store.read() as work:
            work.fits.get(fit_id)
            found = work.gradients.find(fit_id, parameter, step)
            if found is None:
                _raise_not_captured(work, fit_id, parameter, step)
            return found

    def file(self, gradient: GradientRecord) -> Path:
        """Return its .npy file; raise Corrupt if it is damaged."""
        return self._integrity.gradient(gradient)

    def array(self, gradient: GradientRecord) -> NDArray[Any]:
        """Return its values, memory-mapped; raise Corrupt if the file is damaged."""
        return map_array(self.file(gradient))

    def statistics(self, gradient: GradientRecord) -> engine.ArrayStatistics:
        """Return statistics of its values; raise Corrupt if the file is damaged."""
        return engine.array_statistics(self.array(gradient))


def _check_filter(work: UnitOfWork, fit_id: str, step: int | None, parameter: str | None) -> None:
    """Raise an error for a filter that matches nothing if the fit captures no more gradients."""
    if not work.fits.get(fit_id).terminal:
        return
    given = {"parameter": parameter, "step": step}
    steps, parameters = work.gradients.steps(fit_id), work.gradients.parameters(fit_id)
    known = f"it has those of {_join_names(parameters)} at steps {_join_names(steps)}" if steps else "it has none"
    detail = f"query parameter: fit {fit_id} has captured no gradient that matches; {known}"
    raise Invalid(
        detail,
        code="no_match",
        findings=[Finding(f"/{name}", "no_match", detail) for name, value in given.items() if value is not None],
    )


def _raise_not_captured(work: UnitOfWork, fit_id: str, parameter: str, step: int | None) -> NoReturn:
    place = "" if step is None else f" at step {step}"
    wanted = f"fit {fit_id} has no captured gradient of {parameter[:64]!r}{place}"
    steps, parameters = work.gradients.steps(fit_id), work.gradients.parameters(fit_id)
    known = f"it has those of {_join_names(parameters)} at steps {_join_names(steps)}"
    none = "it has none as yet; they are captured where the request says so in record.gradients"
    raise NotFound(f"{wanted}; {known if steps else none}", code="no_gradient")


def _join_names(names: Sequence[object]) -> str:
    return ", ".join(map(str, names))
