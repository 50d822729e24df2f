"""Whether a fit can be accepted: everything about it is checked before it is queued."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import engine
from app.domain.dataset import DatasetRecord
from app.domain.errors import Finding, TooLarge
from app.service.engine_faults import engine_faults
from app.service.memory import memory_budget, memory_needed

NOT_RECIPE = frozenset({"graph", "dataset", "labels", "resources"})
"""Fields of a fit request that are for the service; the others are for the engine."""


def recipe_of(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a fit request that the engine reads."""
    return {name: value for name, value in request.items() if name not in NOT_RECIPE}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fit on its way into the queue: the request, and what it refers to."""

    request: Mapping[str, Any]
    definition: engine.Definition
    dataset: DatasetRecord
    validation: DatasetRecord | None


def admit(candidate: Candidate) -> engine.FitEstimate:
    """Check that graph, rows and recipe fit together and into memory; return steps and bytes.

    Invalid with every fault found; TooLarge if the machine cannot hold the fit.
    """
    validation = candidate.validation
    with engine_faults():
        recipe = engine.read_recipe(recipe_of(candidate.request))
        estimate = engine.check_fit(
            candidate.definition,
            recipe,
            _columns(candidate.dataset),
            None if validation is None else _columns(validation),
        )
    _check_memory(estimate)
    return estimate


def _columns(dataset: DatasetRecord) -> dict[str, engine.ColumnInfo]:
    return {
        column.name: engine.ColumnInfo(column.dtype, column.shape, dataset.rows, column.minimum, column.maximum)
        for column in dataset.columns
    }


def _check_memory(estimate: engine.FitEstimate) -> None:
    needed, budget = memory_needed(estimate.memory), memory_budget()
    if needed > budget:
        terms = ", ".join(f"{term} {size}" for term, size in estimate.memory.items())
        detail = (
            f"the fit needs about {needed} bytes of memory ({terms}); this server gives {budget}; use smaller batches"
        )
        finding = Finding("/batch_size", "memory_exceeded", detail)
        raise TooLarge(detail, limit=budget, code="memory_exceeded", findings=[finding])
