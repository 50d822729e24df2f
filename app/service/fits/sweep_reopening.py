"""Which variants of a sweep that has ended can go on: those that it ended with, not those that had ended before."""

from collections.abc import Sequence

import engine
from app.domain.errors import Conflict
from app.domain.fit import FitRecord, FitState
from app.domain.sweep import SweepTerms, VariantTerms, terms_of
from app.store.unit_of_work import UnitOfWork

OF_ITS_NUMBERS = frozenset({"numerics_nonfinite", "numerics_diverged"})
"""Errors of a variant that it would come to again: its numbers decided them, not what became of its process."""


def resumable(work: UnitOfWork, sweep: FitRecord) -> Sequence[FitRecord]:
    """Return the variants that go on when a sweep that has ended is resumed.

    Conflict if there are none, or one of a halving sweep was deleted, since the others are compared with it.
    """
    return _going_on(work, sweep, "resume", succeeded=False)


def extendable(work: UnitOfWork, sweep: FitRecord) -> Sequence[FitRecord]:
    """Return the variants that go on when a sweep that has ended is extended: also those that came to their end.

    Conflict as of `resumable`.
    """
    return _going_on(work, sweep, "extend", succeeded=True)


def _going_on(work: UnitOfWork, sweep: FitRecord, wish: str, *, succeeded: bool) -> Sequence[FitRecord]:
    terms, variants = terms_of(sweep), work.fits.variants(sweep.id)
    if terms.rungs and len(variants) < (terms.variants or 0):
        raise Conflict(
            f"{(terms.variants or 0) - len(variants)} variants of sweep {sweep.id} were deleted, with which the others "
            "would be compared; submit it again, or fork the variants that are to go on",
            code="variants_deleted",
        )
    ended = [variant for variant in variants if not _may_go_on(variant, succeeded=succeeded)]
    found = _in_the_running(terms, variants, {variant.id for variant in ended})
    if not found:
        raise Conflict(
            f"no variant of sweep {sweep.id}, which has {sweep.state}, is left to {wish}: each has come to its end, "
            "was cancelled by itself, or failed by its numbers; extend the sweep, or fork the variant that is to go on",
            code="already_terminal",
        )
    return found


def _may_go_on(variant: FitRecord, *, succeeded: bool) -> bool:
    if variant.state is FitState.SUCCEEDED:
        return succeeded
    if variant.state is FitState.CANCELLED:
        return not _terms(variant).withdrawn
    return (variant.error or {}).get("code") not in OF_ITS_NUMBERS


def _in_the_running(terms: SweepTerms, variants: Sequence[FitRecord], ended: set[str]) -> Sequence[FitRecord]:
    """Return the variants not in `ended` that still compete for a place: what was decided without one stands."""
    if not terms.rungs:
        return tuple(variant for variant in variants if variant.id not in ended)
    farthest = max(variant.step for variant in variants)

    def overtaken(variant: FitRecord) -> bool:
        reached = len(_terms(variant).reached)
        return reached < len(terms.rungs) and farthest > terms.rungs[reached]

    gone = {place for place, variant in enumerate(variants) if variant.id in ended or overtaken(variant)}
    ladder = engine.sweep.Ladder(
        len(variants),
        terms.rungs,
        eta=terms.eta,
        mode=terms.mode,
        reached=[_terms(variant).reached for variant in variants],
        ended=gone,
    )
    gone.update(left.variant for left in ladder.left_behind())
    return tuple(variant for place, variant in enumerate(variants) if place not in gone)


def _terms(variant: FitRecord) -> VariantTerms:
    assert variant.variant is not None
    return VariantTerms(**variant.variant)
