"""The variants of a sweep: one recipe for each, in a fixed order, each checked as a fit."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.core.errors import DocumentError, Finding, escape, nearest
from engine.core.options import FAULTS, Reader
from engine.graph.definition import Definition
from engine.training.check import FitEstimate, check_fit
from engine.training.column_info import ColumnInfo
from engine.training.recipe.recipe import Recipe, apply_preset, form_of_recipe, read_recipe
from engine.training.sweep.halving import Mode, SuccessiveHalving, rungs, select_monitor
from engine.training.sweep.options import Interval, PathError, SweepOptions, remove_at, replace_at

DEFAULT_OPTIMIZER = {"kind": "adam"}
"""The default optimizer as a document, for paths into it."""

TRIES = 100
"""Maximum number of draws for each sample, to find a new combination."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One fit of a sweep.

    Attributes:
        index: its index among the variants, from 0.
        parameters: the value of each varied field, by its path.
        recipe: the recipe of the fit, as a document: that of the sweep with these values.
        pointers: the pointer to each value in the request for the sweep, by its path.
    """

    index: int
    parameters: Mapping[str, Any]
    recipe: Mapping[str, Any]
    pointers: Mapping[str, str]

    def located(self, finding: Finding, found_in: Callable[[Mapping[str, Any]], Iterable[Finding]]) -> Finding:
        """Return a fault of this variant's recipe as one of the request for the sweep.

        It is the fault of a value that it lies in or, where it is one of an object that values lie in, of the value
        without which it is gone: `found_in` returns the faults of another recipe.
        """
        for path in sorted(self.pointers, key=len, reverse=True):
            place = _place(path)
            if finding.pointer == place or finding.pointer.startswith(f"{place}/"):
                return replace(finding, pointer=self.pointers[path])
        for path in self.pointers:
            inside = _place(path).startswith(f"{finding.pointer}/")
            if inside and finding not in found_in(remove_at(self.recipe, path)):
                return replace(finding, pointer=self.pointers[path])
        return finding


def expand(recipe: Mapping[str, Any], options: SweepOptions) -> tuple[Variant, ...]:
    """Return the variants of a recipe, which is given as a document.

    Those of a grid are in the order of `itertools.product` over the parameters as given: the last varies fastest. Drawn
    ones are in the order of their draws: one number of PCG64 (seeded with `options.seed`) for each parameter.

    Raises:
        DocumentError: a path does not exist in the recipe.
    """
    # "optimizer" before "optimizer.lr": the wider one would undo the other.
    bare = recipe.get("preset") is None and recipe.get("optimizer") is None
    template = {**recipe, "optimizer": DEFAULT_OPTIMIZER} if bare else apply_preset(recipe)
    order = sorted(options.parameters, key=lambda path: path.count("."))
    reader, variants = Reader(), []
    for index, choice in enumerate(_choices(options)):
        document: Any = template
        for path in order:
            try:
                document = replace_at(document, path, choice[path].value)
            except PathError as error:
                _note_once(reader, choice[path].pointer, str(error))
        parameters = {path: choice[path].value for path in options.parameters}
        pointers = {path: choice[path].pointer for path in options.parameters}
        variants.append(Variant(index, parameters, document, pointers))
    reader.finish()
    return tuple(variants)


@dataclass(frozen=True, slots=True)
class _VariedValue:
    """A value, and where the request gives it."""

    value: Any
    pointer: str


def _choices(options: SweepOptions) -> Iterator[dict[str, _VariedValue]]:
    """Yield the value of each parameter, variant by variant."""
    return _draw_combinations(options) if options.drawn else _grid(options)


def _grid(options: SweepOptions) -> Iterator[dict[str, _VariedValue]]:
    rows = [
        [_VariedValue(value, f"{_pointer(path)}/{place}") for place, value in enumerate(values)]
        for path, values in options.parameters.items()
        if isinstance(values, tuple)
    ]
    for chosen in itertools.product(*rows):
        yield dict(zip(options.parameters, chosen, strict=True))


def _draw_combinations(options: SweepOptions) -> Iterator[dict[str, _VariedValue]]:
    """Yield combinations drawn independently, without repetition."""
    assert options.samples is not None
    generator = np.random.Generator(np.random.PCG64(options.seed))
    seen: set[str] = set()
    for _ in range(TRIES * options.samples):
        shares = generator.random(len(options.parameters)).tolist()
        choice = {
            path: _at(path, values, share)
            for (path, values), share in zip(options.parameters.items(), shares, strict=True)
        }
        spelled = json.dumps([chosen.value for chosen in choice.values()], sort_keys=True)
        if spelled not in seen:
            seen.add(spelled)
            yield choice
        if len(seen) == options.samples:
            return


def _at(path: str, values: tuple[Any, ...] | Interval, share: float) -> _VariedValue:
    if isinstance(values, Interval):
        return _VariedValue(values.at(share), _pointer(path))
    place = int(share * len(values))
    return _VariedValue(values[place], f"{_pointer(path)}/{place}")


def _place(path: str) -> str:
    """Return the JSON pointer to the value at a path."""
    return "/" + "/".join(map(escape, path.split(".")))


def _pointer(path: str) -> str:
    return f"/sweep/parameters/{escape(path)}"


def _note_once(reader: Reader, pointer: str, detail: str) -> None:
    if all(finding.pointer != pointer for finding in reader.findings):
        reader.fault(pointer, "attribute_invalid", detail)


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
