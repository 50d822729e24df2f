"""Sweeps: the ranking of variants, closing them with their sweep, and which of them may be resumed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import engine
from app.domain.errors import Conflict
from app.domain.fit import FitRecord, FitState, SweepConfig, VariantConfig, VariantState, sweep_config_of
from app.service.fits.event_log import record_state
from app.store.unit_of_work import UnitOfWork

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RankingEntry:
    """A variant with its rank, from 1; `value` is the metric of the ranking."""

    standing: VariantState
    rank: int
    value: float | None


def ranking(sweep: FitRecord, standings: Sequence[VariantState]) -> list[RankingEntry]:
    """Return the variants, the best first: by the best value of the metric if fits track it, else by the latest."""
    terms = sweep_config_of(sweep)
    values = [engine.sweep.ranking_value(terms.monitor, variant.best, variant.latest) for variant in standings]
    order = engine.sweep.rank_values(values, terms.mode)
    return [RankingEntry(standings[place], rank, values[place]) for rank, place in enumerate(order, 1)]


def close_variants(work: UnitOfWork, sweep: FitRecord, notify: Notify) -> None:
    """End the remaining variants of a sweep that has ended, in the same state; they have no process any more."""
    if not sweep.terminal:
        return
    state = FitState.FAILED if sweep.state is FitState.FAILED else FitState.CANCELLED
    for fit in work.fits.variants(sweep.id):
        if not fit.terminal:
            closed = fit.to(state, phase=state.value, error=sweep.error, finished_at=work.now)
            record_state(work, work.fits.update(closed))
            work.after_commit(partial(notify, fit.id))


NUMERICAL_FAILURES = frozenset({"numerics_nonfinite", "numerics_diverged"})
"""Errors that a variant would reproduce: they are determined by its numbers, not by its process."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """The variants that continue with an ended sweep.

    Attributes:
        competing: those that train on.
        eliminated: those that are out by their rung, and were ended with the sweep before that was stored.
    """

    competing: Sequence[FitRecord]
    eliminated: Sequence[FitRecord] = ()


def find_resumable(work: UnitOfWork, sweep: FitRecord) -> Sequence[FitRecord]:
    """Return the variants that are queued when an ended sweep is resumed, the eliminated ones to be ended as such.

    Raises Conflict if there are none, or if one of a halving sweep was deleted, since the others are compared with it.
    """
    found = _find_continuable(work, sweep, succeeded=False)
    if not found.competing and not found.eliminated:
        raise _nothing_left(sweep, "resume")
    return (*found.competing, *found.eliminated)


def find_extendable(work: UnitOfWork, sweep: FitRecord) -> Continuation:
    """Return the variants that continue when an ended sweep is extended: completed ones too.

    Raises Conflict if none competes, or as `find_resumable`.
    """
    found = _find_continuable(work, sweep, succeeded=True)
    if not found.competing:
        raise _nothing_left(sweep, "extend")
    return found


def _find_continuable(work: UnitOfWork, sweep: FitRecord, *, succeeded: bool) -> Continuation:
    terms, variants = sweep_config_of(sweep), work.fits.variants(sweep.id)
    if terms.rungs and len(variants) < (terms.variants or 0):
        raise Conflict(
            f"{(terms.variants or 0) - len(variants)} variants of sweep {sweep.id} were deleted, with which the others "
            "would be compared; submit it again, or fork the variants that are to go on",
            code="variants_deleted",
        )
    ended = [variant for variant in variants if not _may_go_on(variant, succeeded=succeeded)]
    return _select_continuing(terms, variants, {variant.id for variant in ended})


def _nothing_left(sweep: FitRecord, action: str) -> Conflict:
    return Conflict(
        f"no variant of sweep {sweep.id}, which has {sweep.state}, is left to {action}: each has come to its end, "
        "was cancelled by itself, or failed by its numbers; extend the sweep, or fork the variant that is to go on",
        code="already_terminal",
    )


def _may_go_on(variant: FitRecord, *, succeeded: bool) -> bool:
    if variant.state is FitState.SUCCEEDED:
        return succeeded
    if variant.state is FitState.CANCELLED:
        return not _variant_state(variant).withdrawn
    return (variant.error or {}).get("code") not in NUMERICAL_FAILURES


def _select_continuing(terms: SweepConfig, variants: Sequence[FitRecord], ended: set[str]) -> Continuation:
    """Return the variants not in `ended`: those that compete, and the eliminated; earlier decisions are not revised."""
    if not terms.rungs:
        return Continuation([variant for variant in variants if variant.id not in ended])
    farthest = max(variant.step for variant in variants)

    def overtaken(variant: FitRecord) -> bool:
        reached = len(_variant_state(variant).reached)
        return reached < len(terms.rungs) and farthest > terms.rungs[reached]

    gone = {place for place, variant in enumerate(variants) if variant.id in ended or overtaken(variant)}
    halving = engine.sweep.SuccessiveHalving(
        len(variants),
        terms.rungs,
        eta=terms.eta,
        mode=terms.mode,
        reached=[_variant_state(variant).reached for variant in variants],
        ended=gone,
    )
    eliminated = {left.variant for left in halving.left_behind()}
    return Continuation(
        [variant for place, variant in enumerate(variants) if place not in gone | eliminated],
        [variants[place] for place in sorted(eliminated) if variants[place].state is not FitState.SUCCEEDED],
    )


def _variant_state(variant: FitRecord) -> VariantConfig:
    assert variant.variant is not None
    return VariantConfig(**variant.variant)
