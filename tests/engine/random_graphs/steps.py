"""The steps that random programs are made of: each adds nodes to a program and returns what may be used further."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from engine.core.dtypes import is_float
from engine.core.registry import Op
from engine.core.shape_rules import same
from engine.ops import OPS
from tests.engine.random_graphs.generator import WHOLE, Generator, Refused
from tests.engine.random_graphs.program import Program
from tests.engine.random_graphs.samples import kinds, sampled, traceable_ops

COMPOSED = (
    "pow_scalar", "pow", "lerp", "lerp_tensor", "selu", "relu6", "hardsigmoid", "softsign", "hardswish", "mish",
    "frac", "addcmul", "addcdiv", "add_scaled", "clamp_tensor", "tanhshrink", "gelu_quick", "xielu", "softshrink",
    "hardshrink", "hardtanh", "softplus", "celu", "clamp", "isclose", "ldexp", "heaviside", "masked_fill", "ndtr",
    "where", "deg2rad", "trunc_divide", "add1", "round", "prelu",
)  # fmt: skip
"""Elementwise ops whose shape rule does not mark them as such."""

REDUCTIONS = (
    "sum", "sum", "mean", "mean", "max", "min", "logsumexp", "var", "std", "norm", "prod", "sum_of_squares",
)  # fmt: skip
ALONG = (
    "softmax", "log_softmax", "softmin", "standardize", "cumsum", "sort", "flip", "normalize", "logcumsumexp",
    "cumprod",
)  # fmt: skip

Step = Callable[[Generator], Sequence[str]]


@cache
def elementwise_ops() -> tuple[Op[Any], ...]:
    """Return the ops whose elements depend on those at the same place."""
    names = [op.name for op in traceable_ops() if op.elementwise and not op.random]
    return tuple(OPS[name] for name in (*names, *COMPOSED))


def elementwise(g: Generator) -> Sequence[str]:
    """Apply an elementwise op to values of the batch, and others that broadcast to them."""
    op = g.draw.choice(elementwise_ops())
    number = g.draw.randrange(len(op.samples))
    given = kinds(op.name, number)
    first = g.draw.randrange(len(given))
    operands = [_operand(g, op, number, place, leading=place == first) for place in range(len(given))]
    return g.node(op.name, *operands, **op.samples[number].attrs)


def _operand(g: Generator, op: Op[Any], number: int, place: int, *, leading: bool) -> str:
    kind = kinds(op.name, number)[place]
    if kind in "fV":
        if leading or g.draw.random() < 0.6:
            return g.large()
        shape = g.draw.choice((g.shape, g.shape[1:], (g.rows, 1), (1, g.columns), ()))
        alike = [r for r in g.pool if g.values[r].shape == shape and g.values[r].dtype == g.dtype]
        if alike and g.draw.random() < 0.5:
            return g.draw.choice(alike)
        argument = op.samples[number].arguments[place]
        return g.leaf(np.asarray(argument.draw(g.numbers, shape)).astype(g.dtype))
    if kind == "b" and g.draw.random() < 0.8:
        return g.one(g.draw.choice(("gt", "lt", "ge", "ne")), g.large(), g.draw.choice((g.large(), 0.25)))
    shape = g.shape if leading else g.draw.choice((g.shape, g.shape[1:], ()))
    return g.leaf(np.asarray(op.samples[number].arguments[place].draw(g.numbers, shape)))


def chain(g: Generator) -> Sequence[str]:
    """Apply common elementwise ops one after the other, each to the result of the one before and often to an older."""
    value = g.large()
    created = [value]
    for _ in range(g.draw.randint(2, 6)):
        op = g.draw.choice(("tanh", "add", "mul", "sub", "sigmoid", "relu", "maximum", "scale", "exp", "div", "neg"))
        other = g.draw.choice((g.large(), g.draw.choice(created), 0.5, 2.0))
        if op in ("add", "mul", "sub", "maximum"):
            value = g.one(op, *g.draw.sample((value, other), 2))
        elif op == "div":
            value = g.one("div", value, g.one("add", g.one("square", g.large()), 1.0))
        elif op == "exp":
            value = g.one("exp", g.one("clamp_max", value, bound=1.0))
        else:
            value = g.one(op, value, **({"factor": -0.75, "bias": 0.5} if op == "scale" else {}))
        value = g.bounded(value)
        created.append(value)
    return [value]


def whole_numbers(g: Generator) -> Sequence[str]:
    """Apply an elementwise op to whole numbers, and make what comes of it floating again."""
    op = g.draw.choice([op for op in elementwise_ops() if op.shape_rule is not same])
    number = g.draw.randrange(len(op.samples))
    dtype = np.dtype(g.draw.choice(WHOLE))
    shapes = [g.draw.choice((g.shape, g.shape, g.shape[1:], ())) for _ in kinds(op.name, number)]
    least = 0 if dtype.kind == "u" or g.draw.random() < 0.3 else -5
    leaves = [g.leaf(np.asarray(g.numbers.integers(least, 6, shape)).astype(dtype)) for shape in shapes]
    result = g.one(op.name, *leaves, **op.samples[number].attrs)
    return [result if is_float(g.values[result].dtype) else g.one("cast", result, dtype=g.dtype.name)]


def reduction(g: Generator) -> Sequence[str]:
    """Reduce a value along some axes."""
    op, x = OPS[g.draw.choice(REDUCTIONS)], g.known()
    _check_pairs(g, op.name, x)
    attrs = {}
    rank = g.values[x].ndim
    if "axis" in op.attributes and rank:
        axes = [None, *range(-rank, rank)]
        attrs["axis"] = g.draw.choice([*axes, (0, 1)] if rank > 1 and g.draw.random() < 0.2 else axes)
    if "keepdims" in op.attributes:
        attrs["keepdims"] = g.draw.choice((False, True))
    created = g.one(op.name, x, **attrs)
    if g.draw.random() < 0.4:
        with suppress(ValueError):  # shapes that do not broadcast are the op's to refuse
            g.room_for(*np.broadcast_shapes(g.values[x].shape, g.values[created].shape))
        created = g.one(g.draw.choice(("sub", "add", "mul")), x, created)
    return [created]


def _check_pairs(g: Generator, op: str, x: str) -> None:
    """Refuse a large product: derivatives of its gradient take memory for every pair of factors."""
    if op in ("prod", "cumprod"):
        g.room_for(g.values[x].size, g.values[x].size)


def along(g: Generator) -> Sequence[str]:
    """Apply an op that mixes the elements along an axis."""
    x = g.known()
    rank = g.values[x].ndim
    op = g.draw.choice(ALONG)
    _check_pairs(g, op, x)
    return g.node(op, x, **({"axis": g.draw.randrange(rank)} if rank else {}))[:1]


def view(g: Generator) -> Sequence[str]:
    """Look at a value in another way."""
    x = g.known()
    shape, rank = g.values[x].shape, g.values[x].ndim
    kind = g.draw.choice(("permute", "slice", "reshape", "broadcast_to", "flip", "unsqueeze"))
    if kind == "permute":
        return g.node("permute", x, axes=tuple(g.draw.sample(range(rank), rank)))
    if kind == "slice" and rank:
        axis = g.draw.randrange(rank)
        start, step = g.draw.choice((0, 1, shape[axis] // 2)), g.draw.choice((1, 1, 2))
        return g.node("slice", x, axis=axis, start=start, stop=shape[axis] - g.draw.choice((0, 1)), step=step)
    if kind == "reshape":
        size = g.values[x].size
        return g.node("reshape", x, shape=g.draw.choice(((size,), (size, 1), (*shape, 1), (*shape[::-1],), (2, -1))))
    if kind == "broadcast_to":
        wider = (g.draw.choice((2, g.rows)), *shape)
        g.room_for(*wider)
        return g.node("broadcast_to", x, shape=wider)
    if kind == "flip":
        return g.node("flip", x, axis=g.draw.choice((None, *range(rank))))
    return g.node("unsqueeze", x, axis=g.draw.randrange(rank + 1))


def joined(g: Generator) -> Sequence[str]:
    """Put values beside one another."""
    x = g.known()
    alike = [r for r in g.pool if g.values[r].spec == g.values[x].spec]
    operands = [x, *(g.draw.choice(alike) for _ in range(g.draw.choice((1, 1, 2))))]
    axis = g.draw.randrange(max(g.values[x].ndim, 1))
    if g.draw.random() < 0.2:
        return g.node("stack", *operands, axis=axis)
    return g.node("concat", *operands, axis=axis)


def product(g: Generator) -> Sequence[str]:
    """Multiply matrices: a value with a parameter, or with itself."""
    x = g.large() if g.draw.random() < 0.7 else g.known()
    value = g.values[x]
    if value.ndim < 2:
        raise Refused("no matrix")
    inner = value.shape[-1]
    if g.draw.random() < 0.25:
        g.room_for(*value.shape[:-2], inner, inner)
        gram = g.one("matmul", g.one("permute", x, axes=_turned(value.ndim)), x)
        return [g.one("scale", gram, factor=1.0 / value.shape[-2])]
    columns = g.draw.choice((1, 3, 16, 64, g.columns))
    g.room_for(inner, columns)
    g.room_for(*value.shape[:-1], columns)
    weight = (g.numbers.standard_normal((inner, columns)) / np.sqrt(inner)).astype(value.dtype)
    if g.draw.random() < 0.3:
        turned = g.one("permute", g.leaf(np.ascontiguousarray(weight.T)), axes=(1, 0))
        return g.node("matmul", x, turned)
    return g.node("matmul", x, g.leaf(weight))


def _turned(rank: int) -> tuple[int, ...]:
    return (*range(rank - 2), rank - 1, rank - 2)


def gathered(g: Generator) -> Sequence[str]:
    """Look up rows or elements of a computed table, or add to them."""
    table = g.draw.choice([r for r in g.pool if g.values[r].ndim == 2])
    value = g.values[table]
    count, width = value.shape
    rows = g.draw.choice((g.rows, g.rows, count, 5, 2 * g.rows))
    g.room_for(rows, 2, max(width, count))
    top = g.draw.choice((count, count, max(count // 2, 1)))

    def picks(*shape: int, below: int = top) -> str:
        return g.leaf(g.numbers.integers(0, below, shape).astype(g.draw.choice(("int64", "int32"))), kind="input")

    kind = g.draw.choice(GATHERS)
    if kind == "embedding":
        return g.node("embedding", table, picks(*g.draw.choice(((rows,), (rows, 2)))))
    if kind == "embedding_bag":
        return g.node("embedding_bag", table, picks(rows, 3), mode=g.draw.choice(("sum", "mean", "max")))
    if kind == "index_select":
        axis = g.draw.choice((0, 1))
        return g.node("index_select", table, picks(rows, below=value.shape[axis]), axis=axis)
    if kind in ("gather", "take_along_dim"):
        axis = g.draw.choice((0, 1))
        shape = (rows, width) if axis == 0 else (count, g.draw.choice((1, 3, rows)))
        return g.node(kind, table, picks(*shape, below=value.shape[axis]), axis=axis)
    if kind == "take_flat":
        return g.node(kind, table, picks(rows, below=value.size))
    if kind == "index_add":
        source = g.leaf((g.numbers.standard_normal((rows, width))).astype(value.dtype))
        return g.node("index_add", table, picks(rows), source, axis=0)
    if kind == "scatter_add":
        return g.node("scatter_add", table, picks(count, width, below=rows), axis=0, shape=(rows, width))
    return g.node("add_rows", table, picks(count, below=rows), rows=rows)


GATHERS = (
    "embedding", "embedding", "embedding_bag", "index_select", "gather", "take_along_dim", "take_flat", "index_add",
    "scatter_add", "add_rows",
)  # fmt: skip


def cast(g: Generator) -> Sequence[str]:
    """Go on in another floating type, and often come back."""
    there = g.one("cast", g.known(), dtype=g.draw.choice(("float32", "float64", "float16")))
    return [there] if g.draw.random() < 0.3 else [g.one("cast", there, dtype=g.dtype.name)]


STEPS: tuple[Step, ...] = (
    elementwise, chain, whole_numbers, reduction, along, view, joined, product, gathered, cast, sampled,
)  # fmt: skip
STYLES = (
    (10, 5, 0, 1, 0, 1, 0, 0, 0, 0, 0),
    (4, 2, 1, 2, 1, 3, 1, 1, 1, 1, 4),
    (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 14),
    (3, 2, 0, 1, 1, 1, 1, 3, 4, 0, 1),
    (4, 3, 0, 2, 2, 2, 1, 3, 0, 0, 1),
)
"""How often each of the steps is taken, in the sorts of programs."""
MOST_STEPS = 12
MOST_REFUSED = 40


def random_program(seed: object) -> Program:
    """Make the program of a seed."""
    g = Generator(seed)
    style = g.draw.choice(STYLES)
    steps, refused = g.draw.randint(1, MOST_STEPS), 0
    while steps and refused < MOST_REFUSED:
        (step,) = g.draw.choices(STEPS, style)
        taken = g.attempt(step)
        steps, refused = steps - taken, refused + (not taken)
    return g.finish()
