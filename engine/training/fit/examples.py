"""The examples of a fit: those to train on, in batches, and those to validate on."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from engine.core.errors import DataError, DocumentError, Finding
from engine.core.registry import OPS
from engine.core.value import Array
from engine.data.batches import Batches
from engine.data.column import Column
from engine.data.findings import DataFinding, find_imbalance, find_row_names
from engine.data.loader import Prefetcher, prefetch_depth
from engine.data.normalization import fit_scales
from engine.data.sampling import class_weights, make_sampler
from engine.data.source import RoundedInput, Source, cast_inputs, open_source, rounded_inputs
from engine.data.splitting import split_examples
from engine.data.table.raw import TextColumn
from engine.graph.definition import Definition, NodeSpec, needed_inputs, without_inputs
from engine.graph.shape_inference import infer_shapes
from engine.graph.trace import bind_dims
from engine.training.fit.preprocessed import Columns, PreprocessedInputs
from engine.training.fit.train_step import Rows
from engine.training.metrics.comparisons import find_comparison
from engine.training.metrics.target_units import targets_in_units
from engine.training.recipe.recipe import Recipe
from engine.training.step.reduction import divides_by_class_weights, with_units_loss


class Examples:
    """The rows of a fit: split, normalised and in batches, as its recipe says.

    Attributes:
        recipe: the recipe, adapted to the number of examples.
        definition: the graph with class weights, and without absent inputs.
        preprocessed: the inputs that are made of raw columns; None if there are none.
        scales: the normalisation of the inputs.
        targets: the normalised inputs that the loss compares with predictions.
        batches: the order of the training examples.
        training: the source of the training examples.
        validation: the source of the held-out examples.
        held_out: numbers of the held-out examples.
    """

    def __init__(
        self, definition: Definition, recipe: Recipe, columns: Columns, validation: Columns | None = None
    ) -> None:
        """Open the columns; `validation` holds the columns of held-out rows, in place of a split."""
        absent = absent_inputs(definition, recipe, columns, columns if validation is None else validation)
        given, definition = definition, without_inputs(definition, absent)
        source = _opened(definition, recipe, columns)
        self.recipe = recipe = recipe.on(source.count)
        train, self.held_out = split_examples(source, recipe.validation, recipe.seed)
        self._dtypes = {name: spec.dtype for name, spec in definition.inputs.items()}
        self.preprocessed: PreprocessedInputs | None = None
        if recipe.columns:
            self.preprocessed = PreprocessedInputs(recipe, columns, source, train, self._dtypes)
            source = self.preprocessed.apply(source)
        self.scales = fit_scales(source, recipe.normalize, train)
        self.targets = targets_in_units(definition, self.scales.of)
        if self.targets:
            self.recipe = recipe = with_units_loss(recipe, definition)
        self.definition = weigh_classes(definition, recipe.class_weights, source, train)
        self._complete = weigh_classes(given, recipe.class_weights, source, train) if absent else self.definition
        self._exact = source.scaled(self.scales)
        self.training = cast_inputs(self._exact, self._dtypes)
        self._train, self._columns = train, columns
        self.batches = _batches(recipe, source, train)
        self.validation = self.training
        if validation is not None:
            given_rows = _opened(definition, recipe, validation)
            if self.preprocessed is not None:
                given_rows = self.preprocessed.apply(given_rows, validation)
            self.validation = cast_inputs(given_rows.scaled(self.scales), self._dtypes)
            self.held_out = np.arange(self.validation.count)
        recipe.check_schedule(len(self.held_out), self.batches.per_epoch)
        self._ahead: Prefetcher | None = None
        self._training_dims: dict[int, dict[str, int]] = {}

    @property
    def digest(self) -> str:
        """The digest of the graph with all inputs; it does not depend on the columns."""
        return self._complete.digest

    def dims(self, rows: int) -> dict[str, int]:
        """Return the extents of the graph at a number of training rows."""
        if rows not in self._training_dims:
            self._training_dims[rows] = self._dims(self.training, rows)
        return self._training_dims[rows]

    def validation_dims(self, rows: int) -> dict[str, int]:
        """Return the extents of the graph at a number of held-out rows."""
        return self._dims(self.validation, rows)

    def reader(self, step: int, stop: int, *, whole: bool) -> Rows:
        """Return a reader that gathers batches from `step` to `stop`: the source, or a prefetching thread.

        Only `whole` batches are prefetched. The same reader is returned until it is closed.
        """
        depth = prefetch_depth(self.training, self.recipe.prefetch) if whole else 0
        if depth and self._ahead is None:
            self._ahead = Prefetcher(self.training, self.batches.stream(step, stop), self._dtypes, depth)
        return self._ahead or self.training

    def rounded_inputs(self) -> list[RoundedInput]:
        """Return the inputs whose dtype merges distinct values of their columns."""
        return rounded_inputs(self._exact, self._dtypes)

    def data_findings(self) -> list[DataFinding]:
        """Return what deserves a look in the rows: a target that is nearly one class, columns that name rows."""
        found = [find_row_names(column) for column in self._table_columns()]
        comparison = find_comparison(self.definition)
        of_classes = comparison is not None and comparison.form != "numbers"
        target = self._exact.inputs.get(comparison.targets) if comparison is not None and of_classes else None
        if comparison is not None and target is not None and not target.shape and target.dtype.kind in "iub":
            encoding = self.recipe.classes.get(comparison.targets)
            labels = target.read(self._exact.row_of(self._train))
            found.append(find_imbalance(target.name, labels, None if encoding is None else encoding.names))
        return [each for each in found if each is not None]

    def _table_columns(self) -> Iterator[Column]:
        """Yield the raw columns that inputs are made of."""
        named = {item.column for made in self.recipe.columns.values() for item in made.items}
        for name in sorted(named):
            data = self._columns[name]
            yield Column(name, data.codes if isinstance(data, TextColumn) else data)

    def close(self) -> None:
        """Stop prefetching."""
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = None

    def _dims(self, source: Source, rows: int) -> dict[str, int]:
        shapes = {name: (rows, *source.spec(name).shape) for name in self.definition.inputs}
        return bind_dims(self.definition, shapes)


def _opened(definition: Definition, recipe: Recipe, columns: Columns) -> Source:
    """Open the columns of inputs; of one that is made of raw columns the first of these, for the number of rows."""
    made = {name: each.items[0].column for name, each in recipe.columns.items()}
    inputs = {name: made.get(name) or recipe.feeds.get(name, name) for name in definition.inputs}
    return open_source(columns, inputs, recipe.windows)


def _batches(recipe: Recipe, source: Source, train: Array) -> Batches:
    sampler = None if recipe.sampling is None else make_sampler(recipe.sampling, source, train)
    examples = len(train) if sampler is None else sampler.examples
    batches = Batches(train, min(recipe.batch_size, examples), recipe.shuffle, recipe.drop_last, recipe.seed, sampler)
    if not batches.per_epoch:
        raise DataError("there are no examples to train on")
    return batches


def absent_inputs(definition: Definition, recipe: Recipe, *tables: Container[str]) -> tuple[str, ...]:
    """Return the inputs that are left out of a fit.

    They have no column in one of the `tables`, the recipe does not name them, and no loss, metric or running statistic
    depends on them.
    """
    named = {*recipe.feeds, *recipe.normalize, *recipe.classes, *recipe.columns}
    missing = [n for n in definition.inputs if n not in named and any(n not in columns for columns in tables)]
    if not missing:
        return ()
    needed = needed_inputs(definition, (*definition.losses, *_compared(definition, recipe)), training=True)
    return tuple(name for name in missing if name not in needed)


def _compared(definition: Definition, recipe: Recipe) -> Iterator[str]:
    """Yield the operands of the metrics: those they name, or those that the graph compares."""
    for metric in recipe.metrics:
        yield from (reference for reference in (metric.predictions, metric.targets) if reference is not None)
    comparison = find_comparison(definition) if recipe.metrics else None
    if comparison is not None:
        yield from (comparison.predictions, comparison.targets)


NAME = "class_weights"


def weigh_classes(
    definition: Definition, weights: Literal["balanced"] | Sequence[float] | None, source: Source | None, train: Array
) -> Definition:
    """Return the graph with class weights in its loss.

    Args:
        definition: the graph; its loss must be one of classes, without weights.
        weights: a factor for each class, or "balanced" for equal total weight of each class in the training examples.
        source: the source of the labels; without it balanced weights are 1.
        train: the training examples.

    Raises:
        DocumentError: there is no such loss, or the number of classes differs.
    """
    if weights is None:
        return definition
    node = _weighable(definition)
    logits, target = node.inputs[0], node.inputs[1]
    assert isinstance(logits, str)
    traced = infer_shapes(definition, trials=1).graph.value(logits)
    classes = traced.shape[1] if len(traced.shape) > 1 else traced.shape[0]
    if weights != "balanced":
        if len(weights) != classes:
            raise _refused(f"must be {classes} numbers, one for each class, not {len(weights)}")
        factors = np.asarray(weights, np.float64)
    elif source is None:
        factors = np.ones(classes)
    elif target in source.inputs:
        labels = source.read(train)[str(target)]
        factors = class_weights(labels, classes, "balanced", ignored=node.attrs.get("ignore_index", -100))
    else:
        raise _refused(f"{target!r} is computed by the graph; balanced weights need classes that are fed")
    if NAME in {*definition.inputs, *definition.parameters, *definition.buffers, *definition.constants}:
        raise _refused(f"the graph has something called {NAME!r} already; give it another name")
    weighted = replace(node, inputs=(*node.inputs, NAME))
    return replace(
        definition,
        constants={**definition.constants, NAME: factors.astype(traced.dtype)},
        nodes=tuple(weighted if other is node else other for other in definition.nodes),
    )


def _weighable(definition: Definition) -> NodeSpec:
    losses = {loss.partition(":")[0] for loss in definition.losses}
    found = [node for node in definition.nodes if divides_by_class_weights(node)]
    found = [node for node in found if node.name in losses] or found
    if len(found) != 1:
        names = ", ".join(op.name for op in OPS.values() if op.loss and op.loss.weighted_mean)
        raise _refused(f"the graph needs one loss of classes ({names}) to weigh; it has {len(found)}")
    if len(found[0].inputs) > 2:
        raise _refused("the loss has weights of its own; leave out one of both")
    return found[0]


def _refused(detail: str) -> DocumentError:
    return DocumentError([Finding("/class_weights", "attribute_invalid", detail)])
