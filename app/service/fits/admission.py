"""Admission of fits: everything about a fit is validated before it is queued."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import engine
from app.domain.errors import Finding, TooLarge
from app.domain.fit import SweepConfig, ids_in
from app.domain.records import Column, DatasetRecord
from app.service.resources.engine_documents import engine_faults, invalid
from app.service.resources.memory import MemoryConfig, memory_needed, memory_terms
from app.service.resources.model_classes import (
    Encodings,
    class_faults,
    column_encodings,
    model_classes,
    plain_inputs,
    validation_encodings,
)
from app.service.resources.read_through_cache import ReadThroughCache
from app.service.resources.workers import check_resources, select_executor

FILE_BYTES = 4096
"""Overhead of a file beside its numbers: header and unused part of the last block."""


def check_captures(
    definition: engine.Definition, recipe: engine.Recipe, estimate: engine.FitEstimate, limit: int
) -> None:
    """Raise TooLarge if the gradients that the recipe captures take more than `limit` bytes."""
    record = recipe.record.gradients
    if record is None:
        return
    steps = record.count(estimate.total_steps)
    files = len(record.names(name for name, spec in definition.parameters.items() if not spec.frozen))
    numbers = estimate.memory.get("captured_bytes", 0)
    needed = steps * (numbers + files * FILE_BYTES)
    if needed > limit:
        detail = (
            f"the gradients of {steps} steps, each of {files} parameters with {numbers} bytes together and "
            f"{FILE_BYTES} for each file, take {needed} bytes; this server keeps {limit} of a fit; name fewer steps or "
            "parameters"
        )
        finding = Finding("/record/gradients", "gradients_exceeded", detail)
        raise TooLarge(detail, limit=limit, code="gradients_exceeded", findings=[finding])


NOT_RECIPE = frozenset(
    {"target", "task", "graph", "dataset", "name", "labels", "resources", "sweep", "start_paused", "from_checkpoint"}
)
"""Fields of a fit request that are for the service; the others are for the engine."""
ESTIMATES_KEPT = 1024
"""Maximum number of cached estimates of fits, each of some hundred bytes, and of sweeps."""


def recipe_of(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a fit request that the engine reads; of validation data only whether there are any."""
    recipe = {name: value for name, value in request.items() if name not in NOT_RECIPE}
    held_out = ids_in((recipe.get("validation") or {}).get("dataset"))
    if held_out:
        recipe["validation"] = {**recipe["validation"], "dataset": held_out[0]}
    return recipe


def replicas_of(request: Mapping[str, Any]) -> int:
    """Return the requested number of processes of a fit."""
    replicas: int = (request.get("resources") or {}).get("replicas") or 1
    return replicas


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fit to be admitted: the request and the resources it refers to. The rows of datasets are joined.

    The `digest` is equal for graphs that compute the same in the same way; `runtime` is that of its earlier attempts,
    or of the fit that it continues.
    """

    request: Mapping[str, Any]
    definition: engine.Definition
    digest: str
    datasets: Sequence[DatasetRecord]
    validation: Sequence[DatasetRecord]
    runtime: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AdmittedFit:
    """A fit that can be run: its steps, and the peak memory of each of its processes."""

    estimate: engine.FitEstimate
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class AdmittedVariant:
    """A variant of a sweep: its distinguishing values, its request as a fit, and its steps."""

    parameters: Mapping[str, Any]
    request: dict[str, Any]
    total_steps: int


@dataclass(frozen=True, slots=True)
class AdmittedSweep:
    """A sweep that can be run: its strategy, its variants, and their total number of steps."""

    terms: SweepConfig
    variants: Sequence[AdmittedVariant]
    total_steps: int


@dataclass(frozen=True, slots=True)
class FitLengths:
    """Maximum length of a fit, in epochs and steps."""

    epochs: int = 10**6
    steps: int = 10**9

    def check(self, recipe: Mapping[str, Any], total_steps: int) -> None:
        """Raise Invalid if the recipe, with `total_steps` steps, is longer."""
        epochs = recipe.get("epochs")
        if epochs is not None and epochs > self.epochs:
            detail = f"this server makes at most {self.epochs} epochs of a fit"
            raise invalid([Finding("/epochs", "out_of_range", detail)])
        if total_steps > self.steps:
            unit = "steps" if epochs is None else "epochs"
            detail = f"this comes to {total_steps} steps, and this server makes at most {self.steps} of a fit"
            raise invalid([Finding(f"/{unit}", "out_of_range", detail)])


class Admission:
    """Decides which fits are accepted. Thread-safe.

    Planning the steps is the most expensive part of a request, so estimates are cached by everything they depend on.
    Errors are not cached.
    """

    def __init__(
        self, gradients_max_bytes: int, memory: MemoryConfig | None = None, lengths: FitLengths | None = None
    ) -> None:
        """Reject fits that capture more bytes of gradients, need more `memory`, or are longer than `lengths`."""
        self._gradients_max_bytes = gradients_max_bytes
        self._memory = memory or MemoryConfig()
        self._lengths = lengths or FitLengths()
        self._fits: ReadThroughCache[engine.FitEstimate] = ReadThroughCache(ESTIMATES_KEPT)
        self._sweeps: ReadThroughCache[engine.sweep.SweepEstimate] = ReadThroughCache(ESTIMATES_KEPT)

    def fit(self, candidate: Candidate) -> AdmittedFit:
        """Check that graph, rows and recipe match each other and fit into memory; return steps and bytes.

        Raises Invalid with every fault found; TooLarge if the machine cannot hold the fit, or it captures too many
        gradients.
        """
        columns, validation = _read_columns(candidate)
        document, replicas = recipe_of(candidate.request), replicas_of(candidate.request)
        executor = select_executor(candidate.request.get("resources") or {}, candidate.runtime)
        with engine_faults():
            recipe = engine.read_recipe(document)
            estimate = self._fits.read(
                _digest(candidate.digest, engine.form_of_recipe(document), columns, validation, replicas, executor),
                lambda _: engine.check_fit(
                    candidate.definition, recipe, columns, validation, replicas=replicas, executor=executor
                ),
            )
        self._lengths.check(document, estimate.total_steps)
        needed = self._needed(estimate, executor, replicas)
        check_captures(candidate.definition, recipe, estimate, self._gradients_max_bytes)
        return AdmittedFit(estimate, needed)

    def sweep(self, candidate: Candidate) -> AdmittedSweep:
        """Check a sweep, and each of its variants as a fit.

        Raises Invalid with every fault found; TooLarge if the machine cannot hold a variant or it captures too many
        gradients.
        """
        request = candidate.request
        if replicas_of(request) > 1:
            detail = "the variants of a sweep share the cores, not their batches; leave this out"
            raise invalid([Finding("/resources/replicas", "conflict", detail)])
        columns, validation = _read_columns(candidate)
        document = recipe_of(request)
        with engine_faults():
            options = engine.sweep.read_sweep(request["sweep"])
            variants = engine.sweep.expand(document, options)
            estimate = self._sweeps.read(
                _digest(candidate.digest, document, request["sweep"], columns, validation),
                lambda _: engine.sweep.check_sweep(candidate.definition, options, variants, columns, validation),
            )
        executor = select_executor(request.get("resources") or {}, None)
        largest = max(estimate.fits, key=lambda fit: memory_needed(fit.memory, executor))
        needed = self._needed(largest, executor, 1)
        for variant, fit in zip(variants, estimate.fits, strict=True):
            self._lengths.check(variant.recipe, fit.total_steps)
            check_captures(candidate.definition, engine.read_recipe(variant.recipe), fit, self._gradients_max_bytes)
        return _build_admitted_sweep(request, options, variants, estimate, needed)

    def _needed(self, estimate: engine.FitEstimate, executor: str, replicas: int) -> int:
        """Return the bytes of each process; raise TooLarge, with the sum, if they exceed the limit together."""
        terms = memory_terms(estimate.memory, executor)
        return self._memory.check(terms, "/batch_size", "the fit", "use smaller batches", processes=replicas)


def _digest(*facts: Any) -> str:
    """Return a digest of facts: equal for equal facts only."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=asdict).encode()).hexdigest()


def _build_admitted_sweep(
    request: Mapping[str, Any],
    options: engine.sweep.SweepOptions,
    variants: Sequence[engine.sweep.Variant],
    estimate: engine.sweep.SweepEstimate,
    fit_bytes: int,
) -> AdmittedSweep:
    varied = {path.partition(".")[0] for path in options.parameters}
    shared = {name: value for name, value in request.items() if name != "sweep"}
    return AdmittedSweep(
        SweepConfig(
            kind=options.kind,
            monitor=estimate.monitor,
            mode=estimate.mode,
            eta=options.eta,
            rungs=list(estimate.rungs),
            fit_bytes=fit_bytes,
            variants=len(variants),
        ),
        [
            AdmittedVariant(
                variant.parameters, {**shared, **{name: variant.recipe[name] for name in varied}}, fit.total_steps
            )
            for variant, fit in zip(variants, estimate.fits, strict=True)
        ],
        estimate.total_steps,
    )


def _read_columns(candidate: Candidate) -> tuple[dict[str, engine.ColumnInfo], dict[str, engine.ColumnInfo] | None]:
    """Return the columns of the training and validation rows; raise Invalid for resources that are unavailable."""
    check_resources(candidate.request.get("resources") or {})
    inputs, feeds = candidate.definition.inputs, candidate.request.get("feeds") or {}
    classes = model_classes(candidate.request, inputs, candidate.datasets)
    encodings = column_encodings(classes, feeds, inputs, candidate.datasets)
    columns = _join_columns(candidate.datasets, "/dataset", encodings)
    if not candidate.validation:
        return columns, None
    known = validation_encodings(candidate.request, encodings, inputs, candidate.validation)
    fed = {feeds.get(name, name) for name in plain_inputs(candidate.request, inputs)}
    faults = [*_unexpected_text(candidate.validation, fed - known.keys(), "/validation/dataset")]
    if faults:
        raise invalid(faults)
    return columns, _join_columns(candidate.validation, "/validation/dataset", known)


def _unexpected_text(datasets: Sequence[DatasetRecord], numeric: Set[str], pointer: str) -> Iterator[Finding]:
    """Yield findings for columns that hold text here and numbers in the training dataset."""
    for dataset in datasets:
        for column in dataset.columns:
            if column.name in numeric and column.classes is not None:
                detail = f"column {column.name[:64]!r} of {dataset.id} holds text, and numbers in the training dataset"
                yield Finding(pointer, "dtype_mismatch", f"{detail}; upload it as it was for training")


def _join_columns(
    datasets: Sequence[DatasetRecord], pointer: str, encodings: Encodings
) -> dict[str, engine.ColumnInfo]:
    """Return the columns of all datasets together, with class numbers as in the model.

    Raises Invalid if the datasets do not agree, or a text is no class of the model.
    """
    first, *others = datasets
    faults = [
        Finding(f"{pointer}/{place}", "shape_mismatch", f"{detail}; datasets of one fit have the same columns")
        for place, other in enumerate(others, 1)
        for detail in _column_differences(first, other)
    ]
    faults += class_faults(datasets, encodings, pointer)
    if faults:
        raise invalid(faults)
    rows = sum(dataset.rows for dataset in datasets)
    parts = [{column.name: column for column in dataset.columns} for dataset in datasets]
    return {name: _column_info([part[name] for part in parts], rows, encodings.get(name)) for name in parts[0]}


def _column_info(parts: Sequence[Column], rows: int, encoding: engine.ClassEncoding | None) -> engine.ColumnInfo:
    """Return the description of a column whose rows are in several datasets."""
    if encoding is not None:
        numbers = np.concatenate([encoding.indices(part.classes or ()) for part in parts])
        low, high, classes = int(numbers.min()), int(numbers.max()), len(encoding.names)
        missing = sum(part.missing for part in parts)
        return engine.ColumnInfo(parts[0].dtype, parts[0].shape, rows, low, high, missing, classes)
    return engine.ColumnInfo(
        np.result_type(*{part.dtype for part in parts}).name,
        parts[0].shape,
        rows,
        _known_extreme(min, [part.minimum for part in parts]),
        _known_extreme(max, [part.maximum for part in parts]),
        sum(part.missing for part in parts),
    )


def _column_differences(first: DatasetRecord, other: DatasetRecord) -> Iterator[str]:
    """Yield the reasons why the rows of another dataset cannot be joined to those of the first."""
    wanted, found = ({column.name: column for column in dataset.columns} for dataset in (first, other))
    for name in [*wanted, *(name for name in found if name not in wanted)]:
        if name not in wanted or name not in found:
            yield f"only one of {first.id} and {other.id} has a column {name[:64]!r}"
        elif found[name].shape != wanted[name].shape or not _can_join(found[name].dtype, wanted[name].dtype):
            there, here = (f"{side[name].dtype} {list(side[name].shape)}" for side in (found, wanted))
            yield f"column {name[:64]!r} holds {there}, in {first.id} {here}"
        elif (found[name].classes is None) != (wanted[name].classes is None):
            yield f"column {name[:64]!r} holds text in one of {first.id} and {other.id}, numbers in the other"


def _can_join(one: str, other: str) -> bool:
    """Return whether rows of two dtypes can be joined: equal ones, or floats that are not rounded by it."""
    return one == other or np.dtype(one).kind == np.dtype(other).kind == "f"


def _known_extreme(extreme: Callable[[list[float]], float], values: Sequence[float | None]) -> float | None:
    """Return the extreme over all parts; None if it is unknown for one of them."""
    known = [value for value in values if value is not None]
    return extreme(known) if len(known) == len(values) else None
