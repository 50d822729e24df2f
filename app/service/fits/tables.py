"""Fits of tables: a request that names a target is completed with proposals derived from the dataset."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import engine
from app.domain.errors import Finding
from app.domain.records import Column, DatasetRecord
from app.service.resources.engine_documents import engine_faults, invalid

TARGET_FIELDS = ("target", "task")
LENGTHS = ("epochs", "steps")
MERGED = ("feeds", "normalize")
"""Fields by input, in which proposed and given inputs are merged."""


def completed_table_fit(request: Mapping[str, Any], datasets: Sequence[DatasetRecord]) -> dict[str, Any]:
    """Return a request that names a target with all that is proposed for it; fields that it gives are kept.

    Invalid if it brings a graph too, or there is no such column, or the column does not suit the task.
    """
    if request.get("graph") is not None or request.get("from_checkpoint") is not None:
        detail = "a target replaces the graph, which is generated; omit it if there is a graph or a checkpoint"
        raise invalid([Finding("/target", "conflict", detail)])
    facts, texts = column_facts(datasets)
    with engine_faults():
        fields = engine.propose_fit(request["target"], request.get("task"), facts, texts, request.get("columns"))
    given = {name: value for name, value in request.items() if name not in TARGET_FIELDS and value is not None}
    if any(name in given for name in LENGTHS):
        fields = {name: value for name, value in fields.items() if name not in LENGTHS}
    if given.pop("columns", None) is not None:
        given["columns"] = fields["columns"]
    names = [name for name in MERGED if name in fields or name in given]
    merged = {name: {**fields.get(name, {}), **given.get(name, {})} for name in names}
    return {**fields, **given, **merged}


def column_facts(
    datasets: Sequence[DatasetRecord],
) -> tuple[dict[str, engine.ColumnFacts], dict[str, tuple[str, ...]]]:
    """Return the facts of the columns of joined datasets, and the distinct texts of text columns."""
    facts: dict[str, engine.ColumnFacts] = {}
    texts: dict[str, tuple[str, ...]] = {}
    for first in datasets[0].columns:
        parts = [column for dataset in datasets for column in dataset.columns if column.name == first.name]
        if first.classes is not None:
            texts[first.name] = tuple(sorted({text for part in parts for text in part.classes or ()}))
        facts[first.name] = _facts(parts, sum(dataset.rows for dataset in datasets), texts.get(first.name))
    return facts, texts


def _facts(parts: Sequence[Column], rows: int, texts: Sequence[str] | None) -> engine.ColumnFacts:
    lows = [part.minimum for part in parts if part.minimum is not None]
    highs = [part.maximum for part in parts if part.maximum is not None]
    return engine.ColumnFacts(
        parts[0].shape,
        rows,
        sum(part.missing for part in parts),
        None if texts is None else len(texts),
        np.dtype(parts[0].dtype).kind in "iub",
        min(lows, default=None),
        max(highs, default=None),
    )
