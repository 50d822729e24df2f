"""Proposals for a table: what is done to each column, and the fit of a target by the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.core.errors import DocumentError, Finding, nearest
from engine.data.table.booleans import FALSE, TRUE
from engine.data.table.categories import Category
from engine.data.table.dates import are_dates
from engine.data.table.facts import ColumnFacts
from engine.data.table.section import ITEMS_MAX, read_transform

Task = Literal["classification", "regression"]

NUMBERS, CATEGORIES, TARGET = "numbers", "categories", "target"
"""The inputs of a proposed graph."""

ONE_HOT_LEVELS = 10
"""Up to this number of levels a column becomes one-hot; with more it gets an embedding."""
LOOKED_AT = 1000
"""Texts of a column that are looked at for dates."""
MOST_CLASSES = 1000
RARE = 5
"""Levels of fewer training rows count as unknown in tables of at least `LARGE` rows."""
LARGE = 1000


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is done to the columns of a table.

    Attributes:
        items: for each column that is taken, an item of the input "numbers" or "categories".
        left_out: the reason for each column that is not.
    """

    items: Mapping[str, Mapping[str, Any]]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def section(self, leave_out: Sequence[str] = ()) -> dict[str, list[dict[str, Any]]]:
        """Return the `columns` of a fit; columns with an index go to "categories", all others to "numbers"."""
        section: dict[str, list[dict[str, Any]]] = {NUMBERS: [], CATEGORIES: []}
        for column, item in self.items.items():
            if column not in leave_out:
                section[CATEGORIES if item.get("encode") == "index" else NUMBERS].append({"column": column, **item})
        return {name: items for name, items in section.items() if items}


def propose_columns(columns: Mapping[str, ColumnFacts], texts: Mapping[str, Sequence[str]]) -> Proposal:
    """Propose a transform for each column by its type, range and texts; nothing is read.

    Args:
        columns: the facts of each column.
        texts: the different texts of each text column.
    """
    items: dict[str, dict[str, Any]] = {}
    left_out: dict[str, str] = {}
    for name, facts in columns.items():
        found = _text_item(facts, texts[name]) if name in texts else _number_item(facts)
        if isinstance(found, str):
            left_out[name] = found
        else:
            items[name] = found
    return Proposal(items, left_out)


def _text_item(facts: ColumnFacts, texts: Sequence[str]) -> dict[str, Any] | str:
    if are_dates(texts[:LOOKED_AT]):
        timed = any(":" in text for text in texts[:LOOKED_AT])
        item: dict[str, Any] = {"kind": "date", "parts": ["timestamp"], "cycles": ["month", "weekday"]}
        item["cycles"] += ["hour"] if timed else []
        return item | ({"missing": "mean", "indicator": True} if facts.missing else {})
    if {text.strip().lower() for text in texts} <= {*TRUE, *FALSE} and len(texts) > 1:
        return {"kind": "boolean"} | ({"missing": "half", "indicator": True} if facts.missing else {})
    if len(texts) < 2:
        return _constant(facts) or {"kind": "category"}
    if len(texts) > facts.rows // 2 and len(texts) > ONE_HOT_LEVELS:
        return f"{len(texts)} different texts in {facts.rows} rows: an identifier, or free text (kind 'text')"
    item = {"kind": "category", "encode": "one_hot" if len(texts) <= ONE_HOT_LEVELS else "index"}
    return item | ({"min_frequency": RARE} if facts.rows >= LARGE else {})


def _number_item(facts: ColumnFacts) -> dict[str, Any] | str:
    low, high = facts.minimum, facts.maximum
    if low is None or high is None:
        return "no value is known"
    if low == high:
        return _constant(facts) or {"kind": "number", "impute": "constant", "indicator": True}
    if facts.whole and not facts.shape and not facts.missing:
        spread = high - low + 1
        if spread == facts.rows and low in (0, 1) and facts.rows > ONE_HOT_LEVELS:
            return f"whole numbers from {low:g} to {high:g} in {facts.rows} rows: they number the rows"
        if 2 < spread <= ONE_HOT_LEVELS:
            return {"kind": "category", "encode": "one_hot"}
    item = {"kind": "number", "scale": "quantile" if facts.rows >= LARGE else "standard"}
    return item | ({"impute": "median", "indicator": True} if facts.missing else {})


def _constant(facts: ColumnFacts) -> str | None:
    return None if facts.missing else "the same value in every row"


def propose_fit(
    target: str,
    task: Task | None,
    columns: Mapping[str, ColumnFacts],
    texts: Mapping[str, Sequence[str]],
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the fields of a fit that predicts a column by the others: graph, columns, loss, metrics and options.

    Args:
        target: the column to predict.
        task: "classification" or "regression"; by default what the column looks like.
        columns: the facts of each column.
        texts: the different texts of each text column.
        given: a section to take in place of the proposed one, for the inputs "numbers" and "categories".

    Raises:
        DocumentError: there is no such column, it does not suit the task, or no other column can be taken.
    """
    if target not in columns:
        hint = nearest(target, columns) or f"; its columns are {', '.join(columns)}"[:500]
        raise _refused("/target", "unknown_column", f"the dataset has no column {target[:64]!r}{hint}")
    facts = columns[target]
    task = task or ("classification" if target in texts or _is_class(facts) else "regression")
    outputs, fields = _target_fields(target, task, facts, texts)
    proposal = propose_columns({name: each for name, each in columns.items() if name != target}, texts)
    section = dict(given) if given is not None else proposal.section()
    if not section:
        reasons = "; ".join(f"{name}: {why}" for name, why in proposal.left_out.items())[:400]
        raise _refused("/dataset", "no_columns", f"there is no column to predict {target[:64]!r} by ({reasons})")
    rows, width = _sizes(section, columns)
    inputs: dict[str, Any] = {}
    if width:
        inputs[NUMBERS] = ["batch", width]
    if rows:
        inputs[CATEGORIES] = {"shape": ["batch", len(rows)], "dtype": "int64"}
    layer = {"layer": "tabular", "rows": rows, "units": [*_hidden(facts.rows), outputs], "dropout": 0.1}
    layer |= {"categories": CATEGORIES} if rows and width else {}
    layer |= {"squeeze": True} if task == "regression" else {}
    inputs[TARGET] = {"shape": ["batch"], "dtype": "int64"} if task == "classification" else ["batch"]
    loss = {"kind": "cross_entropy" if task == "classification" else "mse_loss", "target": TARGET}
    graph = {"name": f"{task} of a table", "inputs": inputs, "layers": [layer], "loss": loss}
    made = fields.pop("columns", {})
    return {"graph": graph, "columns": {**section, **made}, **fields, **_options(task, target, facts.rows)}


def _options(task: Task, target: str, rows: int) -> dict[str, Any]:
    """Return the options of training: early stopping on a fifth of the rows, which have no say in the statistics."""
    split: dict[str, Any] = {"split": 0.2}
    return {
        "validation": split | ({"stratify": target} if task == "classification" else {}),
        "optimizer": {"kind": "adamw", "lr": 0.003, "weight_decay": 0.01},
        "schedule": {"kind": "reduce_on_plateau", "monitor": "val_loss", "patience": 4, "factor": 0.3},
        "batch_size": min(max(16, 2 ** (rows // 64).bit_length()), 256),
        "early_stopping": {"monitor": "val_loss", "patience": 12, "restore_best": True},
        "metrics": ["accuracy"] if task == "classification" else ["rmse", "r2"],
        "epochs": 200,
    }


def _hidden(rows: int) -> list[int]:
    return [64, 32] if rows < LARGE else [128, 64]


def _is_class(facts: ColumnFacts) -> bool:
    low, high = facts.minimum, facts.maximum
    return facts.whole and low is not None and high is not None and high - low < ONE_HOT_LEVELS


def _target_fields(
    target: str, task: Task, facts: ColumnFacts, texts: Mapping[str, Sequence[str]]
) -> tuple[int, dict[str, Any]]:
    """Return the number of outputs, and how the target is fed."""
    if facts.shape:
        raise _refused(
            "/target", "shape_mismatch", f"column {target!r} must hold one value a row, not {list(facts.shape)}"
        )
    if facts.missing:
        detail = f"column {target!r} has {facts.missing} missing values in {facts.rows} rows: leave these rows out"
        raise _refused("/target", "missing_values", detail)
    if task == "regression":
        if target in texts:
            detail = f"column {target!r} holds {len(texts[target])} different texts; take task 'classification'"
            raise _refused("/task", "text_target", detail)
        return 1, {"feeds": {TARGET: target}, "normalize": {TARGET: "standard"}}
    if target in texts:
        return max(len(texts[target]), 2), {"feeds": {TARGET: target}}
    if not facts.whole:
        detail = f"column {target!r} holds fractions; take task 'regression', or upload it as whole numbers or texts"
        raise _refused("/task", "type_mismatch", detail)
    low, high = int(facts.minimum or 0), int(facts.maximum or 0)
    if high - low >= MOST_CLASSES:
        detail = f"column {target!r} holds whole numbers from {low} to {high}, more than {MOST_CLASSES} classes"
        raise _refused("/task", "out_of_range", f"{detail}; take task 'regression', or upload it as texts")
    item = {"column": target, "kind": "category", "encode": "index", "unknown": "error", "missing": "error"}
    return max(high - low + 1, 2), {"columns": {TARGET: item}}


def _sizes(section: Mapping[str, Any], columns: Mapping[str, ColumnFacts]) -> tuple[list[int], int]:
    """Return the rows of each embedding, and the number of numbers; faults of the section are found by the fit."""
    rows: list[int] = []
    width = 0
    for name, given in section.items():
        for item in given if isinstance(given, list) else [given]:
            for column in _named(item)[:ITEMS_MAX]:
                if column not in columns:
                    continue
                transform = read_transform(item, columns[column])
                if name == CATEGORIES and isinstance(transform, Category):
                    rows.append(transform.indices(columns[column]))
                elif name == NUMBERS and transform is not None:
                    width += transform.width(columns[column])
    return rows, width


def _named(item: Any) -> list[str]:
    if isinstance(item, str):
        return [item]
    names = item.get("columns", [item.get("column")]) if isinstance(item, Mapping) else []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _refused(pointer: str, code: str, detail: str) -> DocumentError:
    return DocumentError([Finding(pointer, code, detail)])
