"""The examples of a fit: those to train on, in batches, and those to validate on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from engine.core.errors import DataError
from engine.core.value import Array
from engine.data import (
    Batches,
    Prefetcher,
    RoundedInput,
    Source,
    cast_inputs,
    fit_scales,
    make_sampler,
    open_source,
    prefetch_depth,
    rounded_inputs,
    split_examples,
)
from engine.graph.definition import Definition, without_inputs
from engine.graph.trace import bind_dims
from engine.training.fit.absent_inputs import absent_inputs
from engine.training.fit.class_weights import weigh_classes
from engine.training.fit.stepping import Rows
from engine.training.metrics.target_units import targets_in_units
from engine.training.recipe import Recipe
from engine.training.step.units import with_units_loss

Columns = Mapping[str, Array | Sequence[Array]]


class Examples:
    """What a fit reads, split, normalised and in batches as its recipe says.

    Attributes:
        recipe: as it is carried out on so many examples.
        definition: the graph, with the weights of its classes, without the inputs that the fit does without.
        scales: how inputs are normalised.
        targets: the normalised inputs that the loss compares with predictions.
        batches: the training examples, in order.
        training: where they are.
        validation: where the held-out examples are.
        held_out: their numbers.
    """

    def __init__(
        self, definition: Definition, recipe: Recipe, columns: Columns, validation: Columns | None = None
    ) -> None:
        """Open the columns; `validation` are those of held-out rows, in place of a split."""
        absent = absent_inputs(definition, recipe, columns, columns if validation is None else validation)
        given, definition = definition, without_inputs(definition, absent)
        source = _opened(definition, recipe, columns)
        self.recipe = recipe = recipe.on(source.count)
        train, self.held_out = split_examples(source, recipe.validation, recipe.seed)
        self.scales = fit_scales(source, recipe.normalize, train)
        self.targets = targets_in_units(definition, self.scales.of)
        if self.targets:
            self.recipe = recipe = with_units_loss(recipe, definition)
        self.definition = weigh_classes(definition, recipe.class_weights, source, train)
        self._complete = weigh_classes(given, recipe.class_weights, source, train) if absent else self.definition
        self._dtypes = {name: spec.dtype for name, spec in self.definition.inputs.items()}
        self._exact = source.scaled(self.scales)
        self.training = cast_inputs(self._exact, self._dtypes)
        self.batches = _batches(recipe, source, train)
        self.validation = self.training
        if validation is not None:
            self.validation = cast_inputs(_opened(definition, recipe, validation).scaled(self.scales), self._dtypes)
            self.held_out = np.arange(self.validation.count)
        recipe.check_schedule(len(self.held_out), self.batches.per_epoch)
        self._ahead: Prefetcher | None = None

    @property
    def digest(self) -> str:
        """The digest of the graph with the inputs that the fit does without: it does not depend on the columns."""
        return self._complete.digest

    def dims(self, rows: int) -> dict[str, int]:
        """Return the extents of the graph at a number of training rows."""
        return self._dims(self.training, rows)

    def validation_dims(self, rows: int) -> dict[str, int]:
        """Return the extents of the graph at a number of held-out rows."""
        return self._dims(self.validation, rows)

    def reader(self, step: int, stop: int, *, whole: bool) -> Rows:
        """Return what gathers batches from `step` to before `stop`: the source, or a thread that is ahead of it.

        Only `whole` batches are gathered ahead. The same reader goes on until it is closed.
        """
        depth = prefetch_depth(self.training, self.recipe.prefetch) if whole else 0
        if depth and self._ahead is None:
            self._ahead = Prefetcher(self.training, self.batches.stream(step, stop), self._dtypes, depth)
        return self._ahead or self.training

    def rounded_inputs(self) -> list[RoundedInput]:
        """Return the inputs that lose distinct values of their columns in their own type."""
        return rounded_inputs(self._exact, self._dtypes)

    def close(self) -> None:
        """Stop gathering ahead."""
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = None

    def _dims(self, source: Source, rows: int) -> dict[str, int]:
        shapes = {name: (rows, *source.spec(name).shape) for name in self.definition.inputs}
        return bind_dims(self.definition, shapes)


def _opened(definition: Definition, recipe: Recipe, columns: Columns) -> Source:
    return open_source(columns, {name: recipe.feeds.get(name, name) for name in definition.inputs}, recipe.windows)


def _batches(recipe: Recipe, source: Source, train: Array) -> Batches:
    sampler = None if recipe.sampling is None else make_sampler(recipe.sampling, source, train)
    examples = len(train) if sampler is None else sampler.examples
    batches = Batches(train, min(recipe.batch_size, examples), recipe.shuffle, recipe.drop_last, recipe.seed, sampler)
    if not batches.per_epoch:
        raise DataError("there are no examples to train on")
    return batches
