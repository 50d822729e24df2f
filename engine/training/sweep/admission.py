"""Check whether a sweep can be accepted: each variant is checked as a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.core.documents import FAULTS
from engine.core.errors import DocumentError, Finding, nearest
from engine.graph.definition import Definition
from engine.training.check import ColumnInfo, FitEstimate, check_fit
from engine.training.recipe import Recipe, form_of_recipe, read_recipe
from engine.training.sweep.expansion import Variant
from engine.training.sweep.halving import Mode, SuccessiveHalving, rungs, select_monitor
from engine.training.sweep.options import SweepOptions


@dataclass(frozen=True, slots=True)
class SweepEstimate:
    """Steps and bytes of a sweep.

    Attributes:
        fits: steps and bytes of each variant run to its end.
        monitor: the metric that ranks variants.
        mode: whether smaller or larger values are better.
        rungs: the steps after which variants are compared; only for halving.
        total_steps: the steps of all variants together.
    """

    fits: tuple[FitEstimate, ...]
    monitor: str
    mode: Mode
    rungs: tuple[int, ...]
    total_steps: int


def check_sweep(
    definition: Definition,
    options: SweepOptions,
    variants: Sequence[Variant],
    columns: Mapping[str, ColumnInfo],
    validation: Mapping[str, ColumnInfo] | None = None,
) -> SweepEstimate:
    """Check every variant in full, and plan the step of all that may need plans of different sizes.

    Raises:
        DocumentError: every fault found, each once; pointers are those of the request for the sweep.
    """
    found: dict[Finding, None] = {}
    recipes = [*_check_variants(variants, lambda variant: read_recipe(variant.recipe), found)]
    _refuse(found)
    alike: dict[str, FitEstimate] = {}

    def estimated(variant: Variant) -> FitEstimate:
        form = form_of_recipe(variant.recipe)
        if form not in alike:
            alike[form] = check_fit(definition, recipes[variant.index], columns, validation)
        return alike[form]

    fits = [*_check_variants(variants, estimated, found)]
    _refuse(found)
    monitor, mode = select_monitor(options, recipes[0], validated=validation is not None)
    if options.monitor is not None:
        _check_monitor(monitor, recipes[0], validated=validation is not None or recipes[0].validation.split > 0)
    steps = max(fit.total_steps for fit in fits)
    halving = _halving(options, len(variants), steps)
    total = halving.total_steps(steps) if halving.steps else sum(fit.total_steps for fit in fits)
    return SweepEstimate(tuple(fits), monitor, mode, halving.steps, total)


def _check_variants(
    variants: Sequence[Variant], check: Callable[[Variant], Any], found: dict[Finding, None]
) -> Iterator[Any]:
    """Yield the result of `check` for each variant; its faults are collected, up to a limit."""
    for variant in variants:
        try:
            yield check(variant)
        except DocumentError as error:
            found.update(dict.fromkeys(variant.located(finding, _faults) for finding in error.findings))
            if len(found) >= FAULTS:
                return


def _faults(recipe: Mapping[str, Any]) -> tuple[Finding, ...]:
    try:
        read_recipe(recipe)
    except DocumentError as error:
        return error.findings
    return ()


def _refuse(found: Mapping[Finding, None]) -> None:
    if found:
        raise DocumentError([*found])


def _check_monitor(monitor: str, recipe: Recipe, *, validated: bool) -> None:
    names = [metric.row_name for metric in recipe.metrics]
    known = ["loss", *(metric.row_name for metric in recipe.metrics if metric.every_step)]
    if validated:
        known += ["val_loss", *(f"val_{name}" for name in names)]
    if monitor not in known:
        hint = nearest(monitor, known)
        detail = f"no metric {monitor[:64]!r} is known of these fits{hint}; there are {', '.join(known)}"
        raise DocumentError([Finding("/sweep/monitor", "unknown_name", detail)])


def _halving(options: SweepOptions, variants: int, steps: int) -> SuccessiveHalving:
    if options.kind != "halving":
        return SuccessiveHalving(variants)
    if options.min_steps is not None and options.min_steps >= steps:
        detail = f"the fits have {steps} steps; the first rung must come before their end"
        raise DocumentError([Finding("/sweep/min_steps", "out_of_range", detail)])
    return SuccessiveHalving(variants, rungs(steps, variants, options.eta, options.min_steps), eta=options.eta)
