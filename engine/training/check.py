"""Check whether a recipe, a graph and rows fit together, and estimate the steps and bytes of the fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from engine.core.dtypes import is_float
from engine.core.errors import DocumentError, EngineError, Finding, GradientError, escape, nearest
from engine.core.garbage import rare_collections
from engine.core.options import Reader
from engine.core.registry import lookup
from engine.data.batches import Batches
from engine.data.source import CAST_BYTES
from engine.data.splitting import held_out_rows
from engine.graph.definition import Definition, InputSpec, without_inputs
from engine.graph.shape_inference import infer_shapes
from engine.graph.trace import bind_dims, build
from engine.optim.groups import matches
from engine.training.column_info import ColumnInfo, check_made_columns, made_bytes, with_made_columns
from engine.training.estimate import Footprint
from engine.training.fit.examples import absent_inputs, weigh_classes
from engine.training.metrics.comparisons import find_comparison, numeric_comparisons
from engine.training.metrics.operands import BY_CLASS
from engine.training.metrics.regression import NORMALIZED_LOSS
from engine.training.metrics.target_units import targets_in_units
from engine.training.recipe.options import CAPTURES
from engine.training.recipe.recipe import Recipe
from engine.training.step.reduction import with_units_loss
from engine.training.step.trial import batch_reduction
from engine.training.train_state import at_precision

_PLACES = {"metrics": "", "segments": "/recompute", "match": "/recompute", "optimizer": "", "memory_budget": ""}
"""What stands before the pointers of a plan's faults, by how they begin; before others "/graph"."""
LARGEST_BFLOAT16 = 3.3895313892515355e38
ORDER_BYTES = 24
"""Bytes of each example while the order of an epoch is drawn."""


@dataclass(frozen=True, slots=True)
class FitEstimate:
    """Steps and bytes of a fit."""

    total_steps: int
    steps_per_epoch: int
    memory: dict[str, int]


@rare_collections()
def check_fit(
    definition: Definition,
    recipe: Recipe,
    columns: Mapping[str, ColumnInfo],
    validation: Mapping[str, ColumnInfo] | None = None,
    *,
    replicas: int = 1,
    executor: str = "numpy",
) -> FitEstimate:
    """Check feeds, shapes, dtypes, class ranges and batches, and plan the step.

    Args:
        definition: the graph.
        recipe: how to fit it.
        columns: the columns to train on.
        validation: the columns of another validation dataset, if there is one.
        replicas: processes that share each batch.
        executor: runs the plans, see `engine.executors`; the division of a batch, and so the bytes, depend on it.

    Raises:
        DocumentError: every fault found; pointers are those of a fit request.
    """
    reader = Reader()
    if not definition.losses:
        reader.fault("/graph", "no_loss", "the graph has no loss; name one in 'losses'")
    if not definition.inputs:
        reader.fault("/graph", "no_input", "the graph has no input to feed rows to")
    _check_names(definition, recipe, columns, reader)
    check_made_columns(definition, recipe, columns, validation, reader)
    reader.finish()
    absent = absent_inputs(definition, recipe, columns, columns if validation is None else validation)
    definition = without_inputs(definition, absent)
    trained_on, columns = columns, with_made_columns(definition, recipe, columns, columns)
    if validation is not None:
        validation = with_made_columns(definition, recipe, validation, trained_on)
    _check_windows(definition, recipe, columns, reader)
    _check_patterns(definition, recipe, reader)
    fed = _check_feeds(definition, recipe, columns, "/dataset", reader)
    held = _check_feeds(definition, recipe, validation, "/validation/dataset", reader) if validation is not None else {}
    reader.finish()
    definition = at_precision(definition, recipe.precision)
    for rows, pointer in ((fed, "/dataset"), (held, "/validation/dataset")):
        _check_magnitudes(definition, rows, pointer, reader)
    recipe = recipe.on(_examples(recipe, next(iter(fed.values())).rows))
    train, held_out = _sizes(recipe, next(iter(fed.values())).rows, reader)
    reader.finish()
    held_out = _examples(recipe, next(iter(held.values())).rows) if held else held_out
    batches = _batches(recipe, train)
    _check_run(definition, recipe, held_out, batches, reader)
    _check_fixed_batch(definition, recipe, batches, held_out, reader)
    for rows in (fed, held):
        _check_classes(definition, rows, reader)
    _check_text(definition, recipe, fed, reader)
    _check_parts(definition, recipe, batches, replicas, reader)
    reader.finish()
    definition = weigh_classes(definition, recipe.class_weights, None, np.arange(0))
    _check_short_parts(definition, recipe, batches, replicas, fed, reader)
    units = {name: columns[recipe.column_of(name)].shape for name in targets_in_units(definition, recipe.normalize)}
    recipe = with_units_loss(recipe, definition) if units else recipe
    footprint = Footprint(
        definition, recipe, lambda rows: _bound(definition, fed, rows, reader), replicas, executor, units
    )
    memory = _estimate_bytes(footprint, batches, held_out, reader)
    memory["data_bytes"] = _rows_bytes(fed)
    cast = _cast_bytes(definition, fed) + _cast_bytes(definition, held)
    if cast:
        memory["cast_bytes"] = cast
    if recipe.columns:
        memory["columns_bytes"] = made_bytes(recipe, definition, columns, validation)
    memory["order_bytes"] = ORDER_BYTES * batches.examples
    return FitEstimate(recipe.total_steps(batches.per_epoch), batches.per_epoch, memory)


def _check_names(definition: Definition, recipe: Recipe, columns: Mapping[str, ColumnInfo], reader: Reader) -> None:
    for table in ("feeds", "normalize", "classes"):
        for name in getattr(recipe, table):
            if name not in definition.inputs:
                hint = nearest(name, definition.inputs)
                detail = f"the graph has no input called {name[:64]!r}{hint}"
                reader.fault(f"/{table}/{escape(name)}", "unknown_name", detail)
    wanted = {"/validation/stratify": recipe.validation.stratify, "/validation/group": recipe.validation.group}
    if recipe.sampling is not None:
        wanted["/sampling"] = recipe.sampling.column
    for place, column in wanted.items():
        if column is not None and column not in columns:
            hint = nearest(column, columns) or f"; its columns are {', '.join(columns)}"
            reader.fault(place, "unknown_column", f"the dataset has no column {column[:64]!r}{hint}")
        elif column is not None and columns[column].shape:
            shape = list(columns[column].shape)
            reader.fault(place, "shape_mismatch", f"column {column!r} must hold one value a row, not {shape}")


def _check_windows(definition: Definition, recipe: Recipe, columns: Mapping[str, ColumnInfo], reader: Reader) -> None:
    """Check that windows name existing inputs and columns, and that one fits the rows."""
    rows = next((column.rows for column in columns.values()), 0)
    if recipe.windows is None or not rows:
        return
    inputs = {name: recipe.column_of(name) for name in definition.inputs}
    for place, detail in recipe.windows.problems(inputs, columns, rows):
        reader.fault(f"/windows{place}", "attribute_invalid", detail)


def _check_patterns(definition: Definition, recipe: Recipe, reader: Reader) -> None:
    """Check that the patterns of groups, freezing rules and captured gradients match parameters."""
    shapes = {name: spec.shape for name, spec in definition.parameters.items()}
    for group in recipe.optimizer.idle(shapes):
        detail = f"the group takes no parameter (an earlier one may); parameters are {', '.join(shapes)}"[:500]
        reader.fault(f"/optimizer/groups/{group}", "unknown_name", detail)
    for place, rule in enumerate(recipe.freeze):
        if not any(matches(name, rule.patterns) for name in shapes):
            detail = f"no parameter fits the pattern; parameters are {', '.join(shapes)}"[:500]
            reader.fault(f"/freeze/{place}/match", "unknown_name", detail)
    captured = recipe.record.gradients
    for place, pattern in enumerate(captured.parameters if captured is not None else ()):
        if not any(matches(name, (pattern,)) for name in shapes):
            detail = f"no parameter fits the pattern {pattern[:64]!r}; parameters are {', '.join(shapes)}"[:500]
            reader.fault(f"/record/gradients/parameters/{place}", "unknown_name", detail)


def _sizes(recipe: Recipe, rows: int, reader: Reader) -> tuple[int, int]:
    """Return the numbers of training and held-out examples; estimates where they depend on the data."""
    if not rows:
        reader.fault("/dataset", "empty", "the dataset has no rows to train on")
        return 0, 0
    examples = _examples(recipe, rows)
    if recipe.validation.split and examples < 2:
        detail = f"a split needs at least two examples; there are {examples}"
        reader.fault("/validation/split", "out_of_range", detail)
    if reader.findings:
        return 0, 0
    held_out = held_out_rows(examples, recipe.validation.split)
    train, held_out = recipe.validation.sizes(rows, recipe.windows) or (examples - held_out, held_out)
    if not train:
        detail = "no window is left to train on that does not reach into the held-out rows; take shorter windows"
        reader.fault("/validation/split", "out_of_range", detail)
    return train, held_out


def _examples(recipe: Recipe, rows: int) -> int:
    return rows if recipe.windows is None else recipe.windows.count(rows)


def _batches(recipe: Recipe, train: int) -> Batches:
    drawn = recipe.sampling.examples if recipe.sampling is not None else None
    examples = range(drawn or train)
    return Batches(examples, min(recipe.batch_size, len(examples)), recipe.shuffle, recipe.drop_last, recipe.seed)


def _check_run(definition: Definition, recipe: Recipe, held_out: int, batches: Batches, reader: Reader) -> None:
    """Check that schedule, captures and early stopping fit the run, and that their metrics exist."""
    try:
        recipe.check_schedule(held_out, batches.per_epoch)
    except DocumentError as error:
        reader.error("", error)
    _check_captures(recipe, recipe.total_steps(batches.per_epoch), reader)
    stopping = recipe.early_stopping
    if stopping is None or stopping.monitor is None:
        return
    losses = ["loss", NORMALIZED_LOSS] if targets_in_units(definition, recipe.normalize) else ["loss"]
    known = [*losses, *(m.row_name for m in recipe.metrics if recipe.record.epochs and m.every_step)]
    if held_out:
        known += [f"val_{name}" for name in (*losses, *(metric.row_name for metric in recipe.metrics))]
    if stopping.monitor.partition("/")[0] not in known:
        hint = nearest(stopping.monitor, known)
        detail = f"no metric {stopping.monitor[:64]!r} is known after an epoch{hint}; there are {', '.join(known)}"
        reader.fault("/early_stopping/monitor", "unknown_name", detail)


def _check_captures(recipe: Recipe, total_steps: int, reader: Reader) -> None:
    """Check that gradients are not captured too often."""
    record = recipe.record.gradients
    if record is not None and (count := record.count(total_steps)) > CAPTURES:
        detail = f"gradients would be captured at {count} of {total_steps} steps; the maximum is {CAPTURES}"
        reader.fault("/record/gradients", "out_of_range", f"{detail}: take a greater every_steps, or fewer steps")


def _check_parts(definition: Definition, recipe: Recipe, batches: Batches, replicas: int, reader: Reader) -> None:
    """Check that the gradients of parts of a batch sum to those of the batch."""
    place = "/resources/replicas" if replicas > 1 else "/micro_batch_size"
    micro = recipe.micro_batch_size
    parted = replicas > 1 or (micro is not None and micro < batches.batch_size)
    if replicas > 1 and replicas > batches.batch_size:
        detail = f"batches of {batches.batch_size} rows are too small for {replicas} replicas"
        reader.fault(place, "out_of_range", detail)
    elif parted and batch_reduction(definition) is None:
        detail = "the loss compares the rows of a batch with one another, or adds what is not of them"
        detail = f"{detail}: its gradients do not add up from parts of a batch; leave this out"
        reader.fault(place, "conflict", detail)


def _check_feeds(
    definition: Definition, recipe: Recipe, columns: Mapping[str, ColumnInfo], pointer: str, reader: Reader
) -> dict[str, ColumnInfo]:
    fed = {}
    for name, spec in definition.inputs.items():
        source = recipe.column_of(name)
        at = f"/feeds/{escape(name)}" if name in recipe.feeds else pointer
        at = f"/columns/{escape(name)}" if name in recipe.columns else at
        if not isinstance(source, str) or source not in columns:
            hint = nearest(str(source), columns) or f"; its columns are {', '.join(columns)}"
            detail = f"input {name!r} needs a column {str(source)[:64]!r}, which the dataset does not have{hint}"
            reader.fault(at, "unknown_column", detail)
            continue
        column = _example(recipe, name, columns[source])
        problem = _misfit(spec, column)
        if problem:
            of = "its columns" if name in recipe.columns else f"column {source!r}"
            reader.fault(at, problem[0], f"input {name!r} {problem[1]} of {of}")
        elif column.missing and column.classes is not None:
            advice = "take the column in 'columns', with a level for missing texts, or fill them in"
            detail = f"column {source!r}, which input {name!r} takes, holds {column.missing} missing texts"
            reader.fault(at, "missing_values", f"{detail} in {column.rows} rows: {advice}")
        elif column.missing and not _handles_missing(definition, recipe, name, training=pointer == "/dataset"):
            reader.fault(at, "missing_values", _missing(name, source, column))
        else:
            fed[name] = column
    if fed and len(fed) == len(definition.inputs):
        _bind(definition, fed, 1, pointer, reader)
    return fed


def _missing(name: str, source: str, column: ColumnInfo) -> str:
    counted = f"{column.missing} missing value{'s' if column.missing > 1 else ''} (NaN) in {column.rows} rows"
    return (
        f"column {source!r}, which input {name!r} takes, holds {counted}, and the loss would be NaN; fill them in or "
        "remove these rows, handle them in the graph (nan_to_num, isnan with where), or set divergence.action to "
        '"continue"'
    )


def _handles_missing(definition: Definition, recipe: Recipe, name: str, *, training: bool) -> bool:
    """Return whether the graph or the recipe handles missing values of an input.

    The graph does if a value computed from the input enters an op that handles missing values; the recipe does if it
    continues after non-finite numbers or, in training, skips such steps.
    """
    if recipe.nonfinite == "continue" or (training and recipe.nonfinite == "skip"):
        return True
    derived = {name}
    for node in definition.nodes:
        if any(isinstance(operand, str) and operand.partition(":")[0] in derived for operand in node.inputs):
            if lookup(node.op).numerics.handles_missing:
                return True
            derived.add(node.name)
    return False


def _example(recipe: Recipe, name: str, column: ColumnInfo) -> ColumnInfo:
    """Return shape and dtype of an input: windows over the rows of its column, and scaled numbers."""
    shape = column.shape if recipe.windows is None else recipe.windows.example_shape(name, column.shape)
    if name in recipe.normalize:
        return ColumnInfo("float64", shape, column.rows, missing=column.missing, classes=column.classes)
    return replace(column, shape=shape)


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


def _bound(definition: Definition, fed: Mapping[str, ColumnInfo], rows: int, reader: Reader) -> dict[str, int]:
    dims = _bind(definition, fed, rows, "/batch_size", reader)
    reader.finish()
    return dims


def _check_fixed_batch(definition: Definition, recipe: Recipe, batches: Batches, held_out: int, reader: Reader) -> None:
    """Check that every batch has the number of rows that a graph with a fixed leading extent takes."""
    fixed = next((spec.shape[0] for spec in definition.inputs.values() if isinstance(spec.shape[0], int)), None)
    if fixed is None:
        return
    takes = f"the graph takes batches of exactly {fixed} rows"
    micro = recipe.micro_batch_size or batches.batch_size
    if micro == fixed and batches.batch_size % fixed == 0:
        fixed = batches.batch_size
    if batches.batch_size != fixed:
        reader.fault("/batch_size", "shape_mismatch", f"{takes}; set batch_size to that, and drop_last to true")
    elif batches.examples % batches.batch_size and not batches.drop_last:
        reader.fault("/drop_last", "shape_mismatch", f"{takes}, and the last batch is shorter; set drop_last to true")
    elif held_out % min(micro, batches.batch_size):
        reader.fault("/validation", "shape_mismatch", f"{takes}, which {held_out} validation rows do not divide into")


def _check_short_parts(
    definition: Definition,
    recipe: Recipe,
    batches: Batches,
    replicas: int,
    fed: Mapping[str, ColumnInfo],
    reader: Reader,
) -> None:
    """Check that the graph takes the smallest part of a batch: batch norm, for example, needs two rows."""
    last = batches.examples % batches.batch_size
    if last and not batches.drop_last and not _takes(definition, fed, _fewest(recipe, last, replicas), reader):
        fewest = _fewest(recipe, last, replicas)
        detail = f"the last batch of an epoch has {last} rows, of which {fewest} are computed at once; the graph does"
        reader.fault("/drop_last", "shape_mismatch", f"{detail} not take so few; set drop_last, or another batch_size")
    fewest = _fewest(recipe, batches.batch_size, replicas)
    if fewest < batches.batch_size and not _takes(definition, fed, fewest, reader):
        place = "/resources/replicas" if replicas > 1 else "/micro_batch_size"
        detail = f"a part of a batch of {batches.batch_size} rows has only {fewest}, which the graph does not accept"
        reader.fault(place, "shape_mismatch", f"{detail}: choose another batch_size, or leave this out")
    reader.finish()


def _fewest(recipe: Recipe, rows: int, replicas: int) -> int:
    """Return the rows of the smallest part of a batch."""
    shares = {rows // replicas, -(-rows // replicas)} - {0}
    micro = recipe.micro_batch_size or rows
    return min(share % micro or micro if share > micro else share for share in shares)


def _takes(definition: Definition, fed: Mapping[str, ColumnInfo], rows: int, reader: Reader) -> bool:
    dims = _bind(definition, fed, rows, "/batch_size", reader)
    reader.finish()
    try:
        build(definition, dims, training=True)
    except EngineError:
        return False
    return True


def _check_classes(definition: Definition, fed: Mapping[str, ColumnInfo], reader: Reader) -> None:
    """Check that class indices fed to a classification loss lie in the range of its predictions."""
    comparison = find_comparison(definition)
    if comparison is None or comparison.targets not in fed:
        return
    column = fed[comparison.targets]
    known = column.minimum is not None and column.maximum is not None
    if comparison.form not in BY_CLASS or np.dtype(column.dtype).kind == "f" or not known:
        return
    shape = infer_shapes(definition, trials=1).graph.value(comparison.predictions).shape
    classes = shape[-1] if comparison.axis == -1 else shape[1] if len(shape) > 1 else shape[0]
    if column.maximum >= classes or (column.minimum < 0 and column.minimum != comparison.ignore_index):  # type: ignore[operator]  # known tells
        holds = f"{comparison.targets!r} holds classes {column.minimum:g} to {column.maximum:g}"
        detail = f"{holds}, but {comparison.predictions!r} has {classes}: classes are 0 to {classes - 1}"
        reader.fault("/dataset", "class_out_of_range", detail)


def _check_text(definition: Definition, recipe: Recipe, fed: Mapping[str, ColumnInfo], reader: Reader) -> None:
    """Check that the class numbers of a text column are not used as quantities, by a loss or by `normalize`."""
    for name in recipe.normalize:
        if name in fed and (fed[name].classes or 0) > 2:
            detail = f"input {name!r} is text of {fed[name].classes} classes, whose numbers have no scale"
            reader.fault(f"/normalize/{escape(name)}", "text_column", f"{detail}; leave this out")
    for comparison in numeric_comparisons(definition):
        name = comparison.targets
        classes = fed[name].classes if name in fed else None
        if classes is None:
            continue
        detail = f"target {name!r} is text of {classes} classes, and {comparison.op} would take class numbers as"
        advice = f"predict {classes} logits and use cross_entropy, or upload the column as numbers"
        reader.fault("/dataset", "text_target", f"{detail} quantities: {advice}")


def _estimate_bytes(footprint: Footprint, batches: Batches, held_out: int, reader: Reader) -> dict[str, int]:
    """Plan the step and the other plans; return their bytes."""
    rest = 0 if batches.drop_last else batches.examples % batches.batch_size
    try:
        return footprint.measure(batches.batch_size, rest, held_out)
    except GradientError as error:
        raise DocumentError([Finding("/graph", "nothing_to_train", str(error))]) from error
    except DocumentError as error:
        for fault in error.findings:
            table = fault.pointer.split("/")[1:2]
            reader.fault(_PLACES.get(table[0] if table else "", "/graph") + fault.pointer, fault.code, fault.detail)
        reader.finish()
        raise
    except EngineError as error:
        raise DocumentError([Finding("/graph", error.code, str(error))]) from error


def _check_magnitudes(definition: Definition, fed: Mapping[str, ColumnInfo], pointer: str, reader: Reader) -> None:
    """Check that no number of a column overflows the float type of its input."""
    for name, column in fed.items():
        dtype = definition.inputs[name].dtype
        if not is_float(dtype) or column.minimum is None or column.maximum is None:
            continue
        most = float(np.finfo(dtype).max) if dtype.kind == "f" else LARGEST_BFLOAT16
        if max(-column.minimum, column.maximum) > most:
            holds = f"input {name!r} is fitted in {dtype.name}, which holds numbers up to {most:.3g}"
            detail = f"{holds}; its column has larger ones: choose precision float64, or normalize the input"
            reader.fault(pointer, "dtype_mismatch", detail)


def _cast_bytes(definition: Definition, fed: Mapping[str, ColumnInfo]) -> int:
    """Return the bytes of columns that are copied in the dtype of their input."""
    wanted = {name: definition.inputs[name].dtype for name in fed}
    sizes = [
        int(np.prod(column.shape, dtype=np.int64)) * column.rows * wanted[name].itemsize
        for name, column in fed.items()
        if np.dtype(column.dtype) != wanted[name]
    ]
    return min(sum(sizes), CAST_BYTES)


def _rows_bytes(fed: Mapping[str, ColumnInfo]) -> int:
    """Return the bytes of the rows themselves."""
    return sum(int(np.prod(c.shape, dtype=np.int64)) * c.rows * np.dtype(c.dtype).itemsize for c in fed.values())
