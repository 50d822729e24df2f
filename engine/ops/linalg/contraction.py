"""Sums of products over labelled axes: einsum and tensordot, computed as a sequence of matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from engine.core.attributes import Ints
from engine.core.declarations import AUTOCAST_HALF, CallForms
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import sample
from engine.core.shape_rules import normalize_axis
from engine.core.value import Value
from engine.ops.elementwise.elementwise import mul
from engine.ops.linalg.diagonals import diagonal
from engine.ops.linalg.matmul import matrix_product
from engine.ops.reduce.reduce import sum
from engine.ops.shape.shape import permute, reshape

DOTS = "..."
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
MOST_OPERANDS = 32
"""Maximum number of operands; each step of the greedy search compares every pair."""


class _Term(NamedTuple):
    """An operand with one label for each axis."""

    value: Value
    labels: tuple[str, ...]


def _labels(term: str, equation: str) -> tuple[str, ...]:
    """Split the text of one operand into letters and at most one "..."."""
    before, dots, after = term.partition(DOTS)
    labels = (*before, *((DOTS,) if dots else ()), *after)
    if any(label not in LETTERS and label != DOTS for label in labels):
        raise AttributeValueError(
            f"einsum: {term[:64]!r} in {equation[:64]!r} may hold letters and one '...' for each operand"
        )
    return labels


def _parse(equation: str, ranks: Sequence[int]) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Return the labels of each operand and of the result; axes under "..." are labelled from the end."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = [_labels(term, equation) for term in left.split(",")]
    if len(terms) != len(ranks):
        raise AttributeValueError(f"einsum: {equation[:64]!r} names {len(terms)} operands, {len(ranks)} are given")
    dots = 0
    for number, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        named = len(term) - (DOTS in term)
        if rank < named or (rank > named and DOTS not in term):
            raise ShapeError(
                f"einsum: operand {number} has {rank} axes, {''.join(term)[:64]!r} in {equation[:64]!r} names {named}"
            )
        dots = max(dots, rank - named)
    filled = [_filled(term, rank - len(term) + 1) for term, rank in zip(terms, ranks, strict=True)]
    return filled, _result(_labels(right, equation) if arrow else None, filled, dots, equation)


def _filled(term: tuple[str, ...], dots: int) -> tuple[str, ...]:
    """Write "..." out as the labels dots, ..., 2, 1."""
    if DOTS not in term:
        return term
    place = term.index(DOTS)
    return (*term[:place], *(str(k) for k in range(dots, 0, -1)), *term[place + 1 :])


def _result(given: tuple[str, ...] | None, terms: list[tuple[str, ...]], dots: int, equation: str) -> tuple[str, ...]:
    every = [label for term in terms for label in term]
    if given is None:  # the labels that occur once, in alphabetical order, after those of "..."
        once = sorted(label for label in set(every) if label in LETTERS and every.count(label) == 1)
        return (*(str(k) for k in range(dots, 0, -1)), *once)
    result = _filled(given, dots)
    if len(set(result)) != len(result) or not set(result) <= set(every):
        raise AttributeValueError(
            f"einsum: the result of {equation[:64]!r} must name labels of the operands, each once"
        )
    return result


def _without_repeats(term: _Term) -> _Term:
    """Take the diagonal of axes that share a label."""
    value, labels = term
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if value.shape[first] != value.shape[second]:
                raise ShapeError(
                    f"einsum: label {label!r} stands for extents {value.shape[first]} and {value.shape[second]} of one "
                    "operand; they must agree"
                )
            value = diagonal(value, axis0=first, axis1=second)
            labels = (*(other for axis, other in enumerate(labels) if axis not in (first, second)), label)
    return _Term(value, labels)


def _extents(terms: Sequence[_Term]) -> dict[str, int]:
    """Return the extent of each label; an extent of 1 broadcasts."""
    extents: dict[str, int] = {}
    for value, labels in terms:
        for label, extent in zip(labels, value.shape, strict=True):
            known = extents.get(label, 1)
            if 1 not in (known, extent) and known != extent:
                raise ShapeError(f"einsum: label {label!r} stands for extents {known} and {extent}; they must agree")
            extents[label] = extent if known == 1 else known
    return extents


def _long(term: _Term, extents: dict[str, int]) -> set[str]:
    """Return the labels whose axes have the whole extent, not extent 1 to be broadcast."""
    return {label for label, extent in zip(term.labels, term.value.shape, strict=True) if extent == extents[label]}


def _reduced(term: _Term, keep: set[str]) -> _Term:
    """Sum over labels that are not kept."""
    gone = tuple(axis for axis, label in enumerate(term.labels) if label not in keep)
    if not gone:
        return term
    return _Term(sum(term.value, axis=gone), tuple(label for label in term.labels if label in keep))


def _size(labels: set[str], extents: dict[str, int]) -> int:
    return math.prod(extents[label] for label in labels)


def _next_pair(terms: list[_Term], result: set[str], extents: dict[str, int]) -> tuple[int, int]:
    """Return the two operands whose product increases memory least; of ties, the pair of fewest multiplications."""

    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        a, b = (set(terms[k].labels) for k in pair)
        kept = (a | b) & _needed(terms, pair, result)
        return _size(kept, extents) - _size(a, extents) - _size(b, extents), _size(a | b, extents)

    return min(combinations(range(len(terms)), 2), key=cost)


def _needed(terms: list[_Term], pair: tuple[int, ...], result: set[str]) -> set[str]:
    """Return the labels that are needed after the pair is contracted."""
    return result.union(*(term.labels for number, term in enumerate(terms) if number not in pair))


def _contract(a: _Term, b: _Term, keep: set[str]) -> _Term:
    """Multiply two operands and sum over their common labels that neither later products nor the result need."""
    both = [label for label in a.labels if label in b.labels]
    batch = [label for label in both if label in keep]
    inner = [label for label in both if label not in keep]
    rows = [label for label in a.labels if label not in both]
    columns = [label for label in b.labels if label not in both]
    labels = (*batch, *rows, *columns)
    extents = _extents([a, b])
    if not inner:
        product = mul(_spread(a, labels), _spread(b, labels))
    elif not rows and not columns:
        order = (*batch, *inner)
        axes = tuple(range(len(batch), len(order)))
        product = sum(mul(_spread(a, order), _spread(b, order)), axis=axes)
    else:
        product = matrix_product(_grouped(a, batch, rows, inner, extents), _grouped(b, batch, inner, columns, extents))
        product = reshape(product, shape=tuple(extents[label] for label in labels))
    return _Term(product, labels)


def _spread(term: _Term, labels: tuple[str, ...]) -> Value:
    """Bring the axes into the order of `labels`, with extent 1 for those that are missing."""
    ordered = _ordered(term, [label for label in labels if label in term.labels])
    extents = dict(zip(term.labels, term.value.shape, strict=True))
    return reshape(ordered, shape=tuple(extents.get(label, 1) for label in labels))


def _ordered(term: _Term, labels: Sequence[str]) -> Value:
    axes = tuple(term.labels.index(label) for label in labels)
    return term.value if axes == tuple(range(len(axes))) else permute(term.value, axes=axes)


def _grouped(term: _Term, batch: list[str], first: list[str], second: list[str], extents: dict[str, int]) -> Value:
    """Join axes to [*batch, first, second]."""
    ordered = _ordered(term, [*batch, *first, *second])
    sizes = (math.prod(extents[label] for label in group) for group in (first, second))
    return reshape(ordered, shape=(*(extents[label] for label in batch), *sizes))


@composite(
    call=CallForms(orders=(("equation", "operands"),)),
    numerics=AUTOCAST_HALF,
    samples=[
        sample((2, 3), (3, 4), equation="ij,jk->ik"),
        sample((3, 3), equation="ii"),
        sample((2, 3), (3, 2), (2, 2), equation="ab,bc,ca"),
        sample((2, 2, 3), (2, 1, 4), equation="...i,...j->...ij"),
    ],
)
def einsum(*operands: Value, equation: str) -> Value:
    """The sum of products given by the labels: "bij,bjk->bik" is a batch of matrix products, "ii" a trace.

    Each letter stands for an axis; a letter that is not in the result is summed over, one that occurs twice in an
    operand takes its diagonal. "..." stands for further axes, which broadcast. Without "->" the result has the letters
    that occur once, in alphabetical order. Operands are multiplied in pairs, the cheapest pair first.
    """
    if len(operands) > MOST_OPERANDS:
        raise AttributeValueError(f"einsum: {len(operands)} operands are more than {MOST_OPERANDS}")
    labels, result = _parse(equation, [operand.ndim for operand in operands])
    terms = [_without_repeats(_Term(*pair)) for pair in zip(operands, labels, strict=True)]
    extents = _extents(terms)
    wanted = set(result)
    terms = [_reduced(term, _long(term, extents)) for term in terms]
    terms = [_reduced(term, _needed(terms, (number,), wanted)) for number, term in enumerate(terms)]
    while len(terms) > 1:
        pair = _next_pair(terms, wanted, extents)
        made = _contract(terms[pair[0]], terms[pair[1]], _needed(terms, pair, wanted))
        terms = [*(term for number, term in enumerate(terms) if number not in pair), made]
    return _ordered(terms[0], result)


@composite(
    numerics=AUTOCAST_HALF,
    samples=[sample((2, 3, 4), (3, 4, 2)), sample((2, 3), (3, 2), axes=1), sample((2, 3), (4, 3), axes=((1,), (1,)))],
)
def tensordot(a: Value, b: Value, *, axes: int | tuple[Ints, Ints] = 2) -> Value:
    """The sum of products over the axes of a and b paired by `axes`; a number n pairs the last n with the first n.

    Paired axes have equal extents, or one has extent 1 and is repeated.
    """
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise AttributeValueError(
                f"tensordot: axes {axes} must be in 0..{min(a.ndim, b.ndim)}, the axes of both sides"
            )
        axes = (tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes)))
    left = [normalize_axis(axis, a.ndim) for axis in axes[0]]
    right = [normalize_axis(axis, b.ndim) for axis in axes[1]]
    if len(left) != len(right) or len(set(left)) != len(left) or len(set(right)) != len(right):
        raise AttributeValueError(f"tensordot: axes {axes[0]} and {axes[1]} must pair equally many axes, each once")
    for one, other in zip(left, right, strict=True):  # an axis of extent 1 broadcasts
        if a.shape[one] == 1 != b.shape[other]:
            b = sum(b, axis=other, keepdims=True)
        elif b.shape[other] == 1 != a.shape[one]:
            a = sum(a, axis=one, keepdims=True)
    if [a.shape[axis] for axis in left] != [b.shape[axis] for axis in right]:
        raise ShapeError(
            f"tensordot: axes {left} of {list(a.shape)} and {right} of {list(b.shape)} must have the same extents"
        )
    rows = [axis for axis in range(a.ndim) if axis not in left]
    columns = [axis for axis in range(b.ndim) if axis not in right]
    inner = math.prod(a.shape[axis] for axis in left)
    first = reshape(permute(a, axes=(*rows, *left)), shape=(math.prod(a.shape[axis] for axis in rows), inner))
    second = reshape(permute(b, axes=(*right, *columns)), shape=(inner, math.prod(b.shape[axis] for axis in columns)))
    shape = (*(a.shape[axis] for axis in rows), *(b.shape[axis] for axis in columns))
    return reshape(matrix_product(first, second), shape=shape)
