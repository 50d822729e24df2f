"""Whether a recipe, a graph and rows fit together, before any work is accepted; and what the fit will take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.data import Batches, held_out_rows
from engine.documents import Reader, escape
from engine.dtypes import is_float
from engine.errors import DocumentError, EngineError, Finding, GradientError, nearest
from engine.graph.definition import Definition, InputSpec
from engine.graph.limits import LIMITS
from engine.graph.probe import probe
from engine.graph.trace import bind_dims, build
from engine.model import Form, at_precision
from engine.plan import Plan
from engine.recipe import Recipe
from engine.training import metric_operands, plan_training, trained_parameters

LOGITS_LOSSES = ("cross_entropy", "nll_loss")


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """What is known of a column without reading it: `shape` leaves out the rows; extremes are None when unknown."""

    dtype: str
    shape: tuple[int, ...]
    rows: int
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True)
class FitEstimate:
    """Steps and bytes of a fit."""

    total_steps: int
    steps_per_epoch: int
    memory: dict[str, int]


def check_fit(
    definition: Definition,
    recipe: Recipe,
    columns: Mapping[str, ColumnInfo],
    validation: Mapping[str, ColumnInfo] | None = None,
) -> FitEstimate:
    """Check feeds, shapes, dtypes, classes in range and batches, and plan the step.

    Raises:
        DocumentError: every fault found; pointers are those of a fit request.
    """
    reader = Reader()
    if not definition.losses:
        reader.fault("/graph", "no_loss", "the graph has no loss; name one in 'losses'")
    if not definition.inputs:
        reader.fault("/graph", "no_input", "the graph has no input to feed rows to")
    for name in recipe.feeds:
        if name not in definition.inputs:
            hint = nearest(name, definition.inputs)
            reader.fault(f"/feeds/{escape(name)}", "unknown_name", f"the graph has no input called {name[:64]!r}{hint}")
    fed = _check_feeds(definition, recipe, columns, "/dataset", reader)
    held = _check_feeds(definition, recipe, validation, "/validation/dataset", reader) if validation is not None else {}
    reader.finish()
    definition = at_precision(definition, recipe.precision)
    batches = _batches(recipe, next(iter(fed.values())).rows, reader)
    reader.finish()
    held_out = _held_out_rows(batches, fed, held)
    recipe.check_schedule(held_out, batches.per_epoch)
    _check_fixed_batch(definition, batches, held_out, reader)
    _check_classes(definition, {**fed}, reader)
    _check_classes(definition, {**held}, reader)
    reader.finish()
    _check_last_batch(definition, batches, fed, reader)
    plan = _plan(definition, recipe, fed, min(batches.batch_size, len(batches.rows)), reader)
    total = recipe.steps or (recipe.epochs or 0) * batches.per_epoch
    return FitEstimate(total, batches.per_epoch, _memory(plan, fed))


def _check_feeds(
    definition: Definition, recipe: Recipe, columns: Mapping[str, ColumnInfo], pointer: str, reader: Reader
) -> dict[str, ColumnInfo]:
    fed = {}
    for name, spec in definition.inputs.items():
        source = recipe.feeds.get(name, name)
        at = f"/feeds/{escape(name)}" if name in recipe.feeds else pointer
        if not isinstance(source, str) or source not in columns:
            hint = nearest(str(source), columns) or f"; its columns are {', '.join(columns)}"
            detail = f"input {name!r} needs a column {str(source)[:64]!r}, which the dataset does not have{hint}"
            reader.fault(at, "unknown_column", detail)
            continue
        column = columns[source]
        problem = _misfit(spec, column)
        if problem:
            reader.fault(at, problem[0], f"input {name!r} {problem[1]} of column {source!r}")
        else:
            fed[name] = column
    if fed and len(fed) == len(definition.inputs):
        _bind(definition, fed, 1, pointer, reader)
    return fed


def _misfit(spec: InputSpec, column: ColumnInfo) -> tuple[str, str] | None:
    if not spec.shape:
        return "shape_mismatch", 'has no axis for the rows; give it a leading extent such as "batch", instead of that'
    wanted = spec.shape[1:]
    if len(wanted) != len(column.shape) or any(
        isinstance(w, int) and w != c for w, c in zip(wanted, column.shape, strict=True)
    ):
        return "shape_mismatch", f"takes rows of shape {list(wanted)}, not {list(column.shape)}"
    if np.dtype(column.dtype).kind == "f" and not is_float(spec.dtype):
        return "dtype_mismatch", f"takes {spec.dtype.name}, not {column.dtype}"
    if spec.dtype.kind in "iu" and None not in (column.minimum, column.maximum):
        limits = np.iinfo(spec.dtype)
        if column.minimum < limits.min or column.maximum > limits.max:  # type: ignore[operator]
            return "dtype_mismatch", f"takes {spec.dtype.name}, which does not hold the numbers"
    return None


def _bind(
    definition: Definition, fed: Mapping[str, ColumnInfo], rows: int, pointer: str, reader: Reader
) -> dict[str, int]:
    fixed = {spec.shape[0] for spec in definition.inputs.values() if spec.shape and isinstance(spec.shape[0], int)}
    rows = next(iter(fixed)) if len(fixed) == 1 else rows
    try:
        return bind_dims(definition, {name: (rows, *column.shape) for name, column in fed.items()})
    except EngineError as error:
        reader.fault(pointer, error.code, str(error))
        return {}


def _batches(recipe: Recipe, rows: int, reader: Reader) -> Batches:
    if not rows:
        reader.fault("/dataset", "empty", "the dataset has no rows to train on")
    elif recipe.validation_split and rows < 2:
        reader.fault("/validation/split", "out_of_range", f"a split needs at least two rows; the dataset has {rows}")
    if reader.findings:
        return Batches(range(rows), 1, False, False, 0)
    train = range(rows - held_out_rows(rows, recipe.validation_split))  # only their number matters here
    return Batches(train, min(recipe.batch_size, len(train)), recipe.shuffle, recipe.drop_last, recipe.seed)


def _held_out_rows(batches: Batches, fed: Mapping[str, ColumnInfo], held: Mapping[str, ColumnInfo]) -> int:
    rows = next(iter(fed.values())).rows
    return next(iter(held.values())).rows if held else rows - len(batches.rows)


def _check_fixed_batch(definition: Definition, batches: Batches, held_out: int, reader: Reader) -> None:
    """Check that every batch has the number of rows that a graph without a named leading extent takes."""
    fixed = next((spec.shape[0] for spec in definition.inputs.values() if isinstance(spec.shape[0], int)), None)
    if fixed is None:
        return
    takes = f"the graph takes batches of exactly {fixed} rows"
    if batches.batch_size != fixed:
        reader.fault("/batch_size", "shape_mismatch", f"{takes}; set batch_size to that, and drop_last to true")
    elif len(batches.rows) % batches.batch_size and not batches.drop_last:
        reader.fault("/drop_last", "shape_mismatch", f"{takes}, and the last batch is shorter; set drop_last to true")
    elif held_out % batches.batch_size:
        reader.fault("/validation", "shape_mismatch", f"{takes}, which {held_out} validation rows do not divide into")


def _check_last_batch(definition: Definition, batches: Batches, fed: Mapping[str, ColumnInfo], reader: Reader) -> None:
    """Check that the graph takes the short batch at the end of an epoch: batch norm, for one, takes no single row."""
    rows = len(batches.rows) % batches.batch_size
    if not rows or batches.drop_last:
        return
    dims = _bind(definition, fed, rows, "/batch_size", reader)
    reader.finish()
    try:
        build(definition, dims, training=True)
    except EngineError as error:
        detail = f"the last batch of an epoch has {rows} rows, which the graph does not take ({error})"
        reader.fault("/drop_last", "shape_mismatch", f"{detail}; set drop_last to true, or another batch_size")
        reader.finish()


def _check_classes(definition: Definition, fed: dict[str, ColumnInfo], reader: Reader) -> None:
    """Check that class indices fed straight to a classification loss lie in the range of its logits."""
    operands = metric_operands(definition)
    if operands is None or operands[1] not in fed:
        return
    node = next(n for n in definition.nodes if n.inputs[:2] == operands)
    column = fed[operands[1]]
    if (
        node.op not in LOGITS_LOSSES
        or np.dtype(column.dtype).kind == "f"
        or column.minimum is None
        or column.maximum is None
    ):
        return
    shape = probe(definition, LIMITS).graph.value(operands[0]).shape
    classes = shape[1] if len(shape) > 1 else shape[0]
    ignored = node.attrs.get("ignore_index", -100)
    if column.maximum >= classes or (column.minimum < 0 and column.minimum != ignored):
        detail = (
            f"{operands[1]!r} holds classes {column.minimum:g} to {column.maximum:g}, but {operands[0]!r} has {classes}"
        )
        reader.fault("/dataset", "class_out_of_range", f"{detail}: classes are 0 to {classes - 1}")


def _plan(definition: Definition, recipe: Recipe, fed: Mapping[str, ColumnInfo], rows: int, reader: Reader) -> Plan:
    dims = _bind(definition, fed, rows, "/batch_size", reader)
    reader.finish()
    try:
        trained = trained_parameters(definition, dims)
        if not trained:
            raise GradientError("no loss depends on a trainable parameter")
        return plan_training(
            Form(definition, trained, recipe.optimizer),
            dims,
            recipe.optimizer,
            recipe.clip,
            recipe.metrics,
            norms=recipe.record.gradient_norms,
        )
    except GradientError as error:
        raise DocumentError([Finding("/graph", "nothing_to_train", str(error))]) from error
    except EngineError as error:
        reader.error("" if str(error).startswith("/metrics") else "/graph", error)
        reader.finish()
        raise


def _memory(plan: Plan, fed: Mapping[str, ColumnInfo]) -> dict[str, int]:
    state = sum(root.nbytes for root in plan.roots if root.kind == "state")
    rows = sum(int(np.prod(c.shape, dtype=np.int64)) * c.rows * np.dtype(c.dtype).itemsize for c in fed.values())
    return {
        "state_bytes": state,
        "plan_bytes": plan.peak_bytes - state,
        "data_bytes": rows,
        "checkpoint_bytes": 2 * state,
    }
