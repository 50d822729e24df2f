"""Weighted sampling of examples, and weights that balance classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from engine.core.attributes import Range
from engine.core.errors import DataError
from engine.core.value import Array
from engine.data.class_encoding import check_labels
from engine.data.source import Source

BALANCED = "balanced"


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Examples drawn in each epoch, in proportion to weights.

    `weights` names a column of numbers of at least 0, or is "balanced": then every class of the column `of` is drawn
    equally often. With `replacement` an example may be drawn repeatedly. `examples` is their number in an epoch: by
    default that of the training examples or, without replacement, of those with a positive weight.
    """

    weights: str
    of: str | None = None
    replacement: bool = True
    examples: Annotated[int | None, Range(1, 2**40)] = None

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong between the fields."""
        if self.weights == BALANCED and self.of is None:
            yield "/of", "balanced weights need 'of': the column with the classes"
        if self.weights != BALANCED and self.of is not None:
            yield "/of", "'of' goes with the weights \"balanced\"; leave it out, or balance"

    @property
    def column(self) -> str:
        """The column that the weights depend on."""
        return self.of if self.weights == BALANCED and self.of is not None else self.weights


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """Draws positions in proportion to weights (float64, at least 0, not all 0)."""

    weights: Array
    replacement: bool
    examples: int

    def draw(self, random: np.random.Generator) -> Array:
        """Return `examples` positions (int64) in ascending order.

        With replacement by the inverse of the cumulative distribution; without by the smallest of exponential keys
        divided by the weights (Efraimidis & Spirakis, "Weighted random sampling with a reservoir", 2006).
        """
        positive = np.flatnonzero(self.weights)
        weights = self.weights[positive]
        if self.replacement:
            total = np.cumsum(weights)
            drawn = np.searchsorted(total, random.random(self.examples) * total[-1], side="right")
            drawn = np.minimum(drawn, len(positive) - 1)  # a product may be rounded up to the total
        else:
            # A tiny weight may make a key infinite: such rows come last, in their order.
            with np.errstate(over="ignore"):
                keys = random.standard_exponential(len(positive)) / weights
            drawn = np.argsort(keys, kind="stable")[: self.examples]
        return np.asarray(positive[np.sort(drawn)])


def make_sampler(sampling: Sampling, source: Source, examples: Array) -> Sampler:
    """Return a sampler over `examples` of `source`: it draws positions in that array.

    Raises:
        DataError: a weight is no number of at least 0, all are 0, or too few are positive.
    """
    values = source.values(sampling.column, examples)
    if sampling.weights == BALANCED:
        classes = check_labels(sampling.column, values, "balance")
        weights = class_weights(classes.codes, len(classes.names), "balanced")[classes.codes]
    else:
        weights = _check_weights(sampling.column, values)
    positive = int(np.count_nonzero(weights))
    count = sampling.examples or (len(examples) if sampling.replacement else positive)
    if not sampling.replacement and count > positive:
        detail = f"{positive} rows of column {sampling.column!r} have a weight, fewer than the {count} 'examples'"
        raise DataError(f"{detail}: draw fewer, or with replacement")
    return Sampler(weights, sampling.replacement, count)


def class_weights(
    labels: Array, classes: int, weights: Literal["balanced"] | Sequence[float], *, ignored: int | None = None
) -> Array:
    """Return a weight for each class (float64), for a loss or for sampling.

    Balanced weights are n / (k · count), with k the number of classes that occur (scikit-learn's
    `compute_class_weight`); a class that does not occur has weight 0.

    Args:
        labels: class numbers from 0 to `classes` - 1.
        classes: the number of classes.
        weights: "balanced", or one number for each class.
        ignored: a label that is no class.

    Raises:
        DataError: a label is no class, or the weights are not one finite number of at least 0 for each class.
    """
    if not isinstance(weights, str):
        return _given_weights(weights, classes)
    labels = np.asarray(labels)
    labels = labels if ignored is None else labels[labels != ignored]
    if labels.dtype.kind not in "iub" or (labels.size and not 0 <= labels.min() <= labels.max() < classes):
        raise DataError(f"labels must be integers from 0 to {classes - 1} to be balanced")
    counts = np.bincount(labels.reshape(-1).astype(np.int64), minlength=classes)
    present = np.count_nonzero(counts)
    balanced: Array = np.divide(labels.size, present * counts, out=np.zeros(classes), where=counts > 0)
    return balanced


def _given_weights(weights: Sequence[float], classes: int) -> Array:
    given = np.asarray(weights, np.float64)
    if given.shape != (classes,):
        raise DataError(f"class weights must be one number for each of the {classes} classes, not {len(weights)}")
    if not (np.isfinite(given) & (given >= 0)).all():
        raise DataError("class weights must be finite and at least 0")
    return given


def _check_weights(column: str, values: Array) -> Array:
    if values.dtype.kind not in "iufb":
        raise DataError(f"column {column!r} is to hold weights, but its type is {values.dtype}")
    weights = values.astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise DataError(f"weights must be finite and at least 0: column {column!r} holds {weights[wrong[0]]}")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not 0 < total < np.inf:
        raise DataError(f"the weights of column {column!r} add up to {total:g}: at least one must be positive")
    return weights
