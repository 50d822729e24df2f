"""Sharding rules: the results of shards, put together, are the result of the op on the whole."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from engine.core.attributes import bind
from engine.core.registry import Op
from engine.core.samples import Sample
from engine.core.sharding_rules import PARTIAL, WHOLE, Case, Cut, State, cut, part_attrs, rules_of
from engine.core.value import Array, tensor
from engine.ops import OPS
from tests.support.rows import each_row

LARGEST_COUNT = 5


def computed(op: Op[Any], arrays: Sequence[Array], attrs: dict[str, Any]) -> list[Array]:
    created = op(*map(tensor, arrays), **attrs)
    return [value.numpy() for value in (created if isinstance(created, tuple) else (created,))]


def part(array: Array, axis: State, shard: int, count: int) -> Array:
    """What a shard has of an array: its part along an axis, or the whole."""
    if axis is None or axis == WHOLE:
        return array
    extent = array.shape[axis] // count
    return array[(slice(None),) * axis + (slice(shard * extent, (shard + 1) * extent),)]


def joined(parts: Sequence[Array], state: State) -> Array:
    if state == PARTIAL:
        return np.asarray(sum(parts))
    return parts[0] if state is None else np.concatenate(parts, state)


def cases(op: Op[Any], arrays: Sequence[Array]) -> Iterator[tuple[int, tuple[State, ...]]]:
    """Counts of shards, with one input split along an axis, or two of them, or none."""
    axes = [(place, axis) for place, array in enumerate(arrays) for axis in range(array.ndim)]
    counts = sorted({n for array in arrays for n in array.shape if 1 < n <= LARGEST_COUNT} | {2})
    chosen = [(), *((one,) for one in axes), *itertools.combinations(axes, 2)]
    for count, splits in itertools.product(counts, chosen):
        places = [place for place, _ in splits]
        if len({*places}) == len(places) and all(arrays[p].shape[a] % count == 0 < arrays[p].size for p, a in splits):
            states: list[State] = [None] * len(arrays)
            for place, axis in splits:
                states[place] = axis
            yield count, tuple(states)


def check(op: Op[Any], sample: Sample, arrays: Sequence[Array]) -> int:
    """Check an op's rule on one sample; how many cuts it allows."""
    attrs = dict(bind(op.name, op.attributes, sample.attrs))
    attrs.update({"training": True} if attrs.get("training", 0) is None else {})
    whole = computed(op, arrays, attrs)
    shapes, created = [array.shape for array in arrays], [array.shape for array in whole]
    found: set[tuple[int, Cut]] = set()
    for count, states in cases(op, arrays):
        for by_columns in (False, True):
            cutting = cut(Case(op, attrs, shapes, states, created, by_columns), count)
            if cutting is not None:  # None decides nothing: a shard then has its part of a value that is split
                seen = (own if window is None else window for own, window in zip(states, cutting.windows, strict=True))
                found.add((count, Cut(tuple(seen), cutting.states)))
    for count, cutting in found:
        made_parts = []
        for shard in range(count):
            seen = [part(array, window, shard, count) for array, window in zip(arrays, cutting.windows, strict=True)]
            own = part(whole[0], None if cutting.states[0] == PARTIAL else cutting.states[0], shard, count)
            made_parts.append(computed(op, seen, dict(part_attrs(attrs, whole[0].shape, own.shape))))
        for place, state in enumerate(cutting.states):
            total = joined([parts[place] for parts in made_parts], state)
            about = f"{op.name}{sample.attrs} on {shapes}, {count} shards: {cutting}"
            np.testing.assert_allclose(total, whole[place], rtol=1e-9, atol=1e-12, err_msg=about)
    return len(found)


def drawn(op: Op[Any], number: int, sample: Sample) -> list[Array]:
    return [np.asarray(array) for array in sample.arrays(f"{op.name}-{number}")]


def splittable() -> list[Op[Any]]:
    return [op for op in OPS.values() if not (op.data_dependent or op.composite or op.random)]


ATTENTION = (
    ((4, 2), (4, 2), (4, 2), (4, 4)),  # as many rows as columns, and no batch
    ((4, 3, 2), (4, 4, 2), (4, 4, 2), (3, 4)),
    ((4, 4, 2), (4, 4, 2), (4, 4, 2), (4, 4)),  # a mask of all, as long as the batch
    ((2, 4, 3, 2), (4, 2, 2), (1, 1, 2, 2), (2, 1, 3, 2)),
)
"""Shapes of q, k, v and mask that can be cut where they must not be."""


@each_row("shapes", ATTENTION)
def test_attention_is_cut_along_axes_of_the_batch_only(shapes):
    draw = np.random.default_rng(0)
    q, k, v, mask = (draw.standard_normal(shape) for shape in shapes)
    y, logs = computed(OPS["attention"], (q, k, v, mask), {})
    back = (draw.standard_normal(y.shape), draw.standard_normal(logs.shape), y, logs, q, k, v, mask)
    allowed = [check(OPS["attention"], Sample((), {}), (q, k, v, mask))]
    allowed.append(check(OPS["attention_backward"], Sample((), {}), back))
    assert all(allowed) is (q.ndim > 2)


@each_row("axis", [(0,), (1,), (0, 2)])
def test_a_sum_is_split_along_any_axis_that_it_keeps(axis):
    assert check(OPS["sum"], Sample((), {"axis": axis}), [np.random.default_rng(0).standard_normal((2, 4, 4))])


def test_recurrent_steps_are_split_by_rows_though_there_are_as_many_steps():
    x, w_hh, h0 = (np.random.default_rng(0).standard_normal(shape) for shape in ((4, 4, 3), (3, 3), (4, 3)))
    assert check(OPS["rnn_steps"], Sample((), {}), [x, w_hh, h0, np.array([4, 3, 2, 1])])


def test_the_parts_that_shards_compute_make_up_what_the_op_computes_of_the_whole():
    allowed = {
        op.name: sum(check(op, sample, drawn(op, number, sample)) for number, sample in enumerate(op.samples))
        for op in splittable()
    }
    ruled = {name for name in allowed if rules_of(OPS[name]) is not None}
    assert {name for name in ruled if not allowed[name]} == {"pack", *(name for name, _, _ in LARGER)}


LARGER: tuple[tuple[str, tuple[Array, ...], dict[str, Any]], ...] = (
    ("pad", (np.ones((2, 3, 4)),), {"widths": ((0, 0), (0, 1), (2, 0))}),
    ("strided_slice", (np.arange(24.0).reshape(4, 6),), {"shape": (4, 3), "strides": (6, 2), "offset": 1}),
    ("scatter_set", (np.ones((2, 4)), np.array([[0, 2], [3, 1]]), np.full((2, 2), 3.0)), {"axis": 1}),
)
"""Operands of ops whose samples are too small to be cut."""


@each_row(("name", "arrays", "attrs"), LARGER)
def test_larger_operands_are_cut(name: str, arrays: tuple[Array, ...], attrs: dict[str, Any]) -> None:
    assert check(OPS[name], Sample((), attrs), arrays)


@each_row("keepdims", [False, True])
@each_row("axis", [1, (1, 2), (2,)])
@each_row("name", ["amax", "mean", "logsumexp"])
def test_a_reduction_is_split_along_an_axis_that_it_keeps(name: str, axis: Any, keepdims: bool) -> None:
    x = np.random.default_rng(0).standard_normal((2, 4, 4))
    assert check(OPS[name], Sample((), {"axis": axis, "keepdims": keepdims}), [x])


@each_row("name", [op.name for op in OPS.values() if op.algebra.additive and not op.memory.packs])
def test_an_op_of_summands_makes_summands(name):
    op = OPS[name]
    for number, sample in enumerate(op.samples):
        arrays = drawn(op, number, sample)
        if any(array.dtype.kind != "f" for array in arrays):
            continue
        halves = [np.random.default_rng(number).standard_normal(array.shape) for array in arrays]
        rests = [array - half for array, half in zip(arrays, halves, strict=True)]
        attrs = dict(sample.attrs)
        for total, one, other in zip(*(computed(op, part, attrs) for part in (arrays, halves, rests)), strict=True):
            np.testing.assert_allclose(one + other, total, rtol=1e-9, atol=1e-12)
