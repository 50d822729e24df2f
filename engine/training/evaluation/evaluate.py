"""Evaluation of a checkpoint on rows: what a fit's validation computes, at any time, on any dataset."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.core.errors import DataError, DocumentError, EngineError, Finding
from engine.core.modes import STEP_OPERATIONS, Admit, Cost, admit_any
from engine.core.value import Value
from engine.data.checkpoint import SCALES, Checkpoint
from engine.data.class_encoding import ClassEncoding, classes_of_checkpoint
from engine.data.made_columns import open_preprocessed
from engine.data.scaling import Scales
from engine.data.source import Source
from engine.data.table.preprocessing import Preprocessing, preprocessing_of_checkpoint
from engine.execution.interpreter.point import as_refusals
from engine.execution.plan import NumpyExecutor, Plan, make_plan
from engine.graph.definition import Definition, without_inputs
from engine.graph.trace import KEY, bind_dims
from engine.training.evaluation.classification import ClassReport, class_outputs
from engine.training.evaluation.regression import NumberReport, number_outputs
from engine.training.fit.evaluation import summarize
from engine.training.fit.examples import absent_inputs
from engine.training.fit.preprocessed import Columns
from engine.training.fit.steps import LossTally
from engine.training.metrics.comparisons import find_comparison, find_operands, numeric_comparisons
from engine.training.metrics.metric import Metric
from engine.training.metrics.operands import NUMBERS, Operands
from engine.training.metrics.regression import R2, Mae, Rmse
from engine.training.metrics.scores import Accuracy
from engine.training.metrics.tally import Tally, metric_statistics
from engine.training.metrics.target_units import operands_in_units, targets_in_units
from engine.training.recipe.options import Precision
from engine.training.recipe.recipe import Recipe
from engine.training.step.gradient import trace_model, units_of
from engine.training.step.names import LOSS, LOSS_WEIGHT
from engine.training.step.plan_cache import cached_plan
from engine.training.step.reduction import Reduction, weight_of_targets, with_units_loss
from engine.training.step.trial import batch_reduction
from engine.training.train_state import SCALE, SHIFT, StateLayout, StateOptions, TrainState, at_precision

BATCH_BYTES = 2**24
"""Bytes of the inputs of a batch, at most; a batch has one row at least."""


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """How to evaluate.

    Attributes:
        recipe: feeds, windows, metrics and batch size are read of it; without metrics the usual ones are computed.
        start: the first example.
        stop: the example after the last one; None for all.
        precision: the number format.
        threshold: the probability above which a binary prediction is 1.
        bins: bins of the calibration.
        points: points of a ROC curve, at most.
    """

    recipe: Recipe = field(default_factory=Recipe)
    start: int = 0
    stop: int | None = None
    precision: Precision = "float32"
    threshold: float = 0.5
    bins: int = 10
    points: int = 200


def evaluate(
    definition: Definition,
    checkpoint: Checkpoint,
    columns: Columns,
    options: EvaluationOptions | None = None,
    *,
    admit: Admit = admit_any,
) -> dict[str, Any]:
    """Compute the loss and the metrics of a model on rows, in evaluation mode, with averaged weights if it has any.

    Args:
        definition: the graph, with a loss.
        checkpoint: parameters, normalisation and class names of the model.
        columns: the rows by column; arrays may be memory-mapped. Memory does not grow with their number.
        options: which rows, and what to report.
        admit: called with the cost before anything is computed; may raise.

    Returns:
        `rows`; `metrics`, the loss first, in the units of the data; and `classification` or `regression`, a report by
        what the loss compares, else None.

    Raises:
        DocumentError: the graph has no loss, a metric does not suit it, or the rows do not suit its inputs.
        DataError: a column is missing, or there are no such rows.
    """
    model = _Evaluation(definition, checkpoint, columns, options or EvaluationOptions())
    return model.run(admit)


class _Evaluation:
    """The model, the rows and the plans of one evaluation."""

    def __init__(
        self, definition: Definition, checkpoint: Checkpoint, columns: Columns, options: EvaluationOptions
    ) -> None:
        if not definition.losses:
            detail = "the graph has no loss to evaluate; predict with it instead, or name one in its 'losses'"
            raise DocumentError([Finding("", "no_loss", detail)])
        recipe = options.recipe
        scales = Scales.from_arrays(checkpoint.under(SCALES))
        preprocessing = preprocessing_of_checkpoint(checkpoint.meta)
        made = {} if preprocessing is None else preprocessing.inputs
        absent = [name for name in absent_inputs(definition, recipe, columns) if name not in made]
        kept = without_inputs(definition, absent)
        self._options = options
        self._definition = at_precision(kept, options.precision)
        self._source = _open(self._definition, recipe, columns, preprocessing).scaled(scales)
        self._examples = _chosen(self._source, options)
        targets = targets_in_units(self._definition, scales.of)
        recipe = replace(recipe, metrics=_with_operands(kept, recipe.metrics) or _usual_metrics(kept))
        self._recipe = with_units_loss(recipe, self._definition) if targets else recipe
        self._reduction: Reduction = batch_reduction(self._definition, parted=False) or "mean"
        units = {name: scales.of[name].scale.shape for name in targets}
        self._model = TrainState(self._definition, (), None, None, StateOptions(units=units))
        self._model.restore(checkpoint.averaged(), optimizer=False)
        for name in targets:
            self._model.arrays[f"{SCALE}:{name}"][...] = scales.of[name].scale
            self._model.arrays[f"{SHIFT}:{name}"][...] = scales.of[name].shift
        levels = {} if preprocessing is None else preprocessing.classes
        self._classes = {
            **{name: ClassEncoding(names) for name, names in levels.items()},
            **(classes_of_checkpoint(checkpoint.meta) or {}),
        }

    def run(self, admit: Admit) -> dict[str, Any]:
        """Compute everything, batch by batch."""
        size = self._batch_size()
        admit(self._cost(size))
        report, tally = self._report(), Tally(self._recipe.metrics)
        losses = LossTally(self._reduction == "sum")
        executors: dict[int, NumpyExecutor] = {}
        for start in range(self._examples.start, self._examples.stop, size):
            rows = np.arange(start, min(start + size, self._examples.stop))
            if len(rows) not in executors:
                executors = {len(rows): NumpyExecutor(self._plan(len(rows)), self._model.arrays)}
            executor = executors[len(rows)]
            self._source.gather(rows, executor.inputs)
            with as_refusals():
                executor.run()
            tally.add(executor.outputs)
            losses.add(executor.outputs[LOSS].item(), self._weight(executor, len(rows)))
            if report is not None:
                report.add(executor.outputs)
        values = summarize(losses, tally, len(self._examples), uncertain=False)
        return {
            "rows": len(self._examples),
            "metrics": values,
            "classification": report.report(self._options.points) if isinstance(report, ClassReport) else None,
            "regression": report.report() if isinstance(report, NumberReport) else None,
        }

    def _batch_size(self) -> int:
        recipe = self._recipe
        size = min(recipe.micro_batch_size or recipe.batch_size, recipe.batch_size, len(self._examples))
        specs = (self._source.spec(name) for name in self._definition.inputs)
        row_bytes = sum(math.prod(spec.shape) * spec.dtype.itemsize for spec in specs)
        return max(1, min(size, BATCH_BYTES // max(1, row_bytes)))

    def _cost(self, size: int) -> Cost:
        whole, rest = divmod(len(self._examples), size)
        plans = [(self._plan(size), whole)] + ([(self._plan(rest), 1)] if rest else [])
        model = sum(array.nbytes for array in self._model.arrays.values())
        operations = sum(runs * (plan.flops + STEP_OPERATIONS * (len(plan.steps) + 1)) for plan, runs in plans)
        return Cost({"plan_bytes": max(plan.peak_bytes for plan, _ in plans), "initial_bytes": model}, operations)

    def _plan(self, rows: int) -> Plan:
        shapes = {name: (rows, *self._source.spec(name).shape) for name in self._definition.inputs}
        return cached_plan(
            _plan_report,
            self._model,
            bind_dims(self._definition, shapes),
            self._recipe.metrics,
            self._reduction,
            self._options.threshold,
        )

    def _weight(self, executor: NumpyExecutor, rows: int) -> float:
        if self._reduction == "sum":
            return 1.0
        return executor.outputs[LOSS_WEIGHT].item() if LOSS_WEIGHT in executor.outputs else float(rows)

    def _report(self) -> ClassReport | NumberReport | None:
        """Return an empty report on what the loss compares, which the outputs of a plan are added to."""
        shapes = {name: (1, *self._source.spec(name).shape) for name in self._definition.inputs}
        _, graph = trace_model(self._model, bind_dims(self._definition, shapes), None, (), training=False)
        with graph.trace():
            operands = _operands(graph, {})
        if operands is None:
            return None
        if operands.form in NUMBERS:
            return NumberReport()
        compared = find_comparison(self._definition)
        encoding = None if compared is None else self._classes.get(compared.targets)
        names = None if encoding is None else encoding.names
        return ClassReport(operands.form, operands.classes, names, self._options.bins)


def _plan_report(
    model: StateLayout, dims: Mapping[str, int], metrics: tuple[Metric, ...], reduction: Reduction, threshold: float
) -> Plan:
    """Plan the loss, the statistics of metrics, and what the report reads, in evaluation mode."""
    leaves, graph = trace_model(model, dims, None, (), training=False)
    units = units_of(model, leaves)
    outputs: dict[str, Value] = {LOSS: graph.total_loss(), **metric_statistics(metrics, graph, units=units)}
    weight = weight_of_targets(graph) if reduction == "weighted" else None
    if weight is not None:
        outputs[LOSS_WEIGHT] = weight
    with graph.trace():
        operands = _operands(graph, units)
        if operands is not None:
            numbers = operands.form in NUMBERS
            outputs |= number_outputs(operands) if numbers else class_outputs(operands, threshold)
    return make_plan({**graph.inputs, KEY: graph.key}, leaves, outputs, {}, rows=tuple(graph.inputs))


def _operands(graph: Any, units: Mapping[str, Any]) -> Operands | None:
    """Return what the loss of a traced graph compares, in the units of the data; None if that is not known."""
    compared = find_comparison(graph.definition) or next(numeric_comparisons(graph.definition), None)
    if compared is None:
        return None
    try:
        named = find_operands(
            graph,
            predictions=compared.predictions,
            targets=compared.operand or compared.targets,
            form=compared.form,
        )
    except EngineError:
        return None
    return operands_in_units(named, graph, units) if units else named


def _usual_metrics(definition: Definition) -> tuple[Metric, ...]:
    compared = find_comparison(definition) or next(numeric_comparisons(definition), None)
    if compared is None:
        return ()
    if compared.form not in NUMBERS:
        return (Accuracy(),)
    predictions, targets = compared.predictions, compared.operand or compared.targets
    return tuple(kind(predictions=predictions, targets=targets) for kind in (Mae, Rmse, R2))


def _with_operands(definition: Definition, metrics: tuple[Metric, ...]) -> tuple[Metric, ...]:
    """Return metrics that name no operands with those of the subtraction in the loss, if no loss op says them."""
    compared = None if find_comparison(definition) else next(numeric_comparisons(definition), None)
    if compared is None:
        return metrics
    predictions, targets = compared.predictions, compared.operand or compared.targets
    return tuple(
        m if m.predictions or m.targets or m.form else replace(m, predictions=predictions, targets=targets)
        for m in metrics
    )


def _open(definition: Definition, recipe: Recipe, columns: Columns, preprocessing: Preprocessing | None) -> Source:
    made = {} if preprocessing is None else preprocessing.inputs
    plain = [name for name in definition.inputs if name not in made or name in recipe.feeds]
    inputs = {name: recipe.feeds.get(name, name) for name in plain}
    dtypes = {name: spec.dtype for name, spec in definition.inputs.items()}
    return open_preprocessed(columns, inputs, recipe.windows, preprocessing, dtypes)


def _chosen(source: Source, options: EvaluationOptions) -> range:
    stop = source.count if options.stop is None else options.stop
    if not 0 <= options.start < stop or stop > source.count:
        detail = f"there are examples 0 to {source.count - 1}, not {options.start} to {stop - 1}"
        raise DataError(f"{detail}: choose `start` and `stop` (excluded) within them")
    return range(options.start, stop)
