"""Facts about columns, and about the inputs that a recipe makes of them, before the rows are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.core.dtypes import is_float
from engine.core.options import Reader
from engine.data.table.categories import Category
from engine.data.table.facts import ColumnFacts
from engine.data.table.section import InputColumns, section_faults
from engine.graph.definition import Definition
from engine.training.recipe.recipe import Recipe


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """Facts about a column that do not require reading it.

    Attributes:
        dtype: name of the element type.
        shape: of one row.
        rows: the number of rows.
        minimum: smallest finite value, or None if unknown.
        maximum: largest finite value, or None if unknown.
        missing: the number of NaN values.
        classes: the number of class names of a text column; None for a column of numbers.
    """

    dtype: str
    shape: tuple[int, ...]
    rows: int
    minimum: float | None = None
    maximum: float | None = None
    missing: int = 0
    classes: int | None = None


TRANSIENT_BYTES = 48
"""Bytes for each number of the widest raw column while its statistics are computed: copies in float64."""


def facts_of(column: ColumnInfo) -> ColumnFacts:
    """Return what transforms need to know of a column."""
    return ColumnFacts(
        column.shape,
        column.rows,
        column.missing,
        column.classes,
        np.dtype(column.dtype).kind in "iub",
        column.minimum,
        column.maximum,
    )


def check_made_columns(
    definition: Definition,
    recipe: Recipe,
    columns: Mapping[str, ColumnInfo],
    validation: Mapping[str, ColumnInfo] | None,
    reader: Reader,
) -> None:
    """Report what does not fit between the section, the graph's inputs and the columns of both datasets."""
    facts = {name: facts_of(column) for name, column in columns.items()}
    for pointer, code, detail in section_faults(recipe.columns, definition.inputs, facts):
        reader.fault(pointer, code, detail)
    if validation is None or reader.findings:
        return
    for each in recipe.columns.values():
        for item in each.items:
            held = validation.get(item.column)
            if held is None:
                detail = f"has no column {item.title}, which {item.pointer} takes"
                reader.fault("/validation/dataset", "unknown_column", f"the validation dataset {detail}")
            elif (held.classes is None) != (facts[item.column].classes is None):
                detail = f"column {item.title} holds text in one of the datasets, and numbers in the other"
                reader.fault("/validation/dataset", "dtype_mismatch", f"{detail}; upload it as it was for training")


def with_made_columns(
    definition: Definition, recipe: Recipe, rows: Mapping[str, ColumnInfo], trained_on: Mapping[str, ColumnInfo]
) -> dict[str, ColumnInfo]:
    """Return the columns and those that preprocessing makes of them; shapes are those of the training columns."""
    facts = {name: facts_of(column) for name, column in trained_on.items()}
    made = {}
    for name, each in recipe.columns.items():
        raw = rows[each.items[0].column]
        wanted, integer = definition.inputs[name].dtype, each.integer(facts)
        dtype = wanted.name if integer or is_float(wanted) else "float32"
        bounds = _bounds(each, facts)
        made[recipe.column_of(name)] = type(raw)(dtype, each.shape(facts), raw.rows, *bounds)
    return {**rows, **made}


def made_bytes(recipe: Recipe, definition: Definition, *tables: Mapping[str, ColumnInfo] | None) -> int:
    """Return the bytes of the arrays that preprocessing makes, and of its computations."""
    total = widest = 0
    for table in tables:
        for name in recipe.columns if table is not None else ():
            assert table is not None
            made = table[recipe.column_of(name)]
            total += made.rows * int(np.prod(made.shape, dtype=np.int64)) * definition.inputs[name].dtype.itemsize
            raws = [table[item.column] for item in recipe.columns[name].items]
            widest = max([widest, *(raw.rows * int(np.prod(raw.shape, dtype=np.int64)) for raw in raws)])
    return total + TRANSIENT_BYTES * widest


def _bounds(each: InputColumns, facts: Mapping[str, ColumnFacts]) -> tuple[float | None, float | None]:
    """Return the range of the indices of a single column of categories."""
    item = each.items[0]
    transform = item.resolved(facts[item.column])
    if each.single and isinstance(transform, Category) and transform.integer:
        return 0.0, float(transform.indices(facts[item.column]) - 1)
    return None, None
