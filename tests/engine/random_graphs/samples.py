"""Any op on one of its samples, often at larger extents: equal extents of a sample grow together."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from engine.core.dtypes import is_float
from engine.core.errors import REFUSALS
from engine.core.registry import Op
from engine.core.samples import Argument, Sample
from engine.core.value import Array, Shape
from engine.ops import OPS
from tests.engine.random_graphs.generator import Generator, Refused

MOST_ELEMENTS = 2**16
"""The largest operand of a sample that has grown."""
MOST_WORK = 2**18
"""Its elements before times how much each extent has grown: what an op, and its derivatives, may cost."""

CHECKED = ("multinomial", "opt_step_sgd", "opt_step_adamw", "bernoulli")
"""Ops that refuse numbers out of their range: they get their samples as they are."""
NAMES_OF_SHAPES = ("shape", "size", "output_size")


@cache
def traceable_ops() -> tuple[Op[Any], ...]:
    """Return the ops that can stand in a graph and have samples."""
    return tuple(op for op in OPS.values() if not op.data_dependent and op.samples)


@cache
def kinds(name: str, number: int) -> tuple[str, ...]:
    """Return the kinds of the dtypes of a sample's inputs: "f", "i", "b"."""
    return tuple(array.dtype.kind for array in OPS[name].samples[number].arrays(name))


def grown(sample: Sample, draw: random.Random, extents: Sequence[int]) -> Sample:
    """Return a sample with some of its extents replaced by larger ones out of `extents`; those of 0 and 1 stay."""
    known = sorted({extent for argument in sample.arguments for extent in argument.shape if extent > 1})
    larger = {extent: draw.choice(extents) for extent in known if draw.random() < 0.7}
    larger = {old: new for old, new in larger.items() if new > old}
    if not larger:
        return sample
    arguments = tuple(Argument(_mapped(a.shape, larger), a.draw) for a in sample.arguments)
    growth = math.prod(new / old for old, new in larger.items())
    most = max((math.prod(a.shape) for a in sample.arguments), default=1)
    if most * growth > MOST_WORK or max((math.prod(a.shape) for a in arguments), default=1) > MOST_ELEMENTS:
        return sample
    return Sample(arguments, _attrs(sample.attrs, larger))


def _mapped(shape: Shape, larger: Mapping[int, int]) -> Shape:
    return tuple(larger.get(extent, extent) for extent in shape)


def _attrs(attrs: Mapping[str, Any], larger: Mapping[int, int]) -> dict[str, Any]:
    """Grow the attributes that give a shape."""
    return {
        name: _mapped(value, larger) if name in NAMES_OF_SHAPES and isinstance(value, tuple) else value
        for name, value in attrs.items()
    }


def drawn(sample: Sample, generator: np.random.Generator) -> list[Array]:
    """Draw the inputs of a sample."""
    return [np.asarray(argument.draw(generator, argument.shape)) for argument in sample.arguments]


def sampled(g: Generator) -> Sequence[str]:
    """Apply any op to one of its samples, often at larger extents, its operands known values where they may be."""
    op = g.draw.choice(traceable_ops())
    sample = g.draw.choice(op.samples)
    larger = grown(sample, g.draw, (g.rows, g.columns, g.draw.choice((2, 7, 16, 40))))
    try:
        return _apply(g, op, larger)
    except (Refused, MemoryError, *REFUSALS):  # the extents do not suit the op, or what draws its inputs
        return _apply(g, op, sample)


def _apply(g: Generator, op: Op[Any], sample: Sample) -> Sequence[str]:
    arrays = drawn(sample, g.numbers)
    lend = all(is_float(array.dtype) for array in arrays)
    operands = [_sampled(g, array, as_it_is=op.name in CHECKED, lend=lend) for array in arrays]
    created = g.node(op.name, *operands, **sample.attrs)
    return [created[0], *(r for r in created[1:] if g.draw.random() < 0.5)]


def _sampled(g: Generator, array: Array, *, as_it_is: bool, lend: bool) -> str:
    if not is_float(array.dtype):
        if array.dtype == np.int64 and array.size and g.draw.random() < 0.2 and np.abs(array).max() < 128:
            array = array.astype(g.draw.choice(("int32", "int64")))
        return g.leaf(array)
    array = array.astype(g.dtype)
    alike = [r for r in g.pool if g.values[r].spec == (array.shape, array.dtype)]
    if as_it_is or not array.size:
        return g.leaf(array)
    if alike and lend and g.draw.random() < 0.6:
        return g.draw.choice(alike)
    leaf = _laid_out(g, array)
    return _moved(g, leaf, array) if g.draw.random() < 0.5 else leaf


def _laid_out(g: Generator, array: Array) -> str:
    """A value with the given numbers: a leaf, or a view of one whose elements lie in another order."""
    layout = g.draw.choice(("rows", "rows", "columns", "every second")) if array.ndim else "rows"
    if layout == "columns":
        return g.one("permute", g.leaf(np.ascontiguousarray(array.T)), axes=tuple(range(array.ndim))[::-1])
    if layout == "every second":
        return g.one("slice", g.leaf(np.repeat(array, 2, axis=-1)), axis=-1, step=2)
    return g.leaf(array)


def _moved(g: Generator, leaf: str, array: Array) -> str:
    """Move numbers a little by a known value, so that gradients run through the op from what came before."""
    known = g.known(g.dtype)
    flat = g.one("reshape", known, shape=(g.values[known].size,))
    times = -(-array.size // g.values[known].size)
    if times > 64:
        raise Refused("a value that is too small to fill another")
    flat = g.one("concat", *[flat] * times, axis=0) if times > 1 else flat
    shaped = g.one("reshape", g.one("slice", flat, axis=0, stop=array.size), shape=array.shape)
    small = g.one("scale", g.one("tanh", shaped), factor=0.01)
    return g.one("add", leaf, small)
