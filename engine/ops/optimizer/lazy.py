"""Steps of Adam that leave rows without a gradient as they are, for tables of which a batch looks up few rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.core.attributes import Ints
from engine.core.declarations import PRECISE_COMPOSITION, Documentation, Memory
from engine.core.dtypes import FLOAT16, FLOAT32
from engine.core.errors import AttributeValueError
from engine.core.registry import primitive
from engine.core.samples import positive, sample, uniform
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import ne, where
from engine.ops.elementwise.elementwise import sqrt, square
from engine.ops.optimizer.updates import at_width, check_step, rounded, running_mean, stored
from engine.ops.reduce.reduce import any
from engine.ops.shape.shape import broadcast_to, pack, reshape, slice


class RowLayout(NamedTuple):
    """Where the parameters of a vector lie: for each its first element, its rows and the elements of a row."""

    offsets: Ints = ()
    rows: Ints = ()
    lengths: Ints = ()

    @classmethod
    def of(cls, shapes: Sequence[Shape], offsets: Sequence[int]) -> RowLayout:
        """Return the layout of parameters of these shapes; their rows run along the first axis."""
        rows = tuple(shape[0] if shape else 1 for shape in shapes)
        lengths = tuple(math.prod(shape[1:]) for shape in shapes)
        return cls(tuple(offsets), rows, lengths)

    def segments(self, shape: Shape) -> Iterator[tuple[int, int, int]]:
        """Yield offset, rows and length of each parameter; without any, those of one array of `shape`."""
        layout = self if self.offsets else RowLayout.of([shape], [0])
        return zip(*layout, strict=True)


def touched(gradient: Value, layout: RowLayout) -> Value:
    """Return, in ops and for each element, whether its row of the gradient has an element that is not 0."""
    pieces = []
    for offset, rows, length in layout.segments(gradient.shape):
        flat = slice(reshape(gradient, shape=(-1,)), start=offset, stop=offset + rows * length)
        table = reshape(flat, shape=(rows, length))
        found = broadcast_to(any(ne(table, 0), axis=1, keepdims=True), shape=(rows, length))
        pieces.append(cast(found, dtype=FLOAT32))
    offsets = layout.offsets or (0,)
    return reshape(ne(pack(*pieces, offsets=offsets, size=gradient.size), 0), shape=gradient.shape)


def _lazy_adam_update(
    gradient: Value,
    parameter: Value,
    moment1: Value,
    moment2: Value,
    beta1: Value,
    rate: Value,
    scale: Value,
    *,
    offsets: Ints,
    rows: Ints,
    lengths: Ints,
    **_: object,
) -> tuple[Spec, Spec, Spec]:
    spec = check_step("lazy_adam_update", (gradient, parameter, moment1, moment2), (beta1, rate, scale))
    if not len(offsets) == len(rows) == len(lengths):
        raise AttributeValueError("lazy_adam_update: offsets, rows and lengths must have one entry a parameter")
    end = 0
    for offset, count, length in zip(offsets, rows, lengths, strict=True):
        if offset < end or count < 0 or length < 0:
            raise AttributeValueError("lazy_adam_update: parameters must lie one after the other, from element 0 on")
        end = offset + count * length
    if end > parameter.size:
        raise AttributeValueError(f"lazy_adam_update: the parameters end at element {end} of {parameter.size}")
    return spec, spec, spec


VECTORS = ((3, 2), (3, 2), (3, 2), positive(3, 2))
FLAT = ((9,), (9,), (9,), positive(9))
NUMBERS = (uniform(0.5, 0.9), uniform(0.2, 0.3), positive())


@primitive(
    shape_rule=_lazy_adam_update,
    multi_output=True,
    numerics=PRECISE_COMPOSITION,
    memory=Memory(inplace={0: 1, 1: 2, 2: 3}),
    documentation=Documentation(outputs=("parameter", "moment1", "moment2")),
    samples=[
        sample(*VECTORS, *NUMBERS, beta2=0.8),
        sample(*FLAT, *NUMBERS, beta2=0.8, offsets=(0, 5), rows=(2, 1), lengths=(2, 4)),
    ],
)
def lazy_adam_update(
    gradient: Array,
    parameter: Array,
    moment1: Array,
    moment2: Array,
    beta1: Array,
    rate: Array,
    scale: Array,
    *,
    beta2: float = 0.999,
    eps: float = 1e-8,
    offsets: Ints = (),
    rows: Ints = (),
    lengths: Ints = (),
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, ...]:
    """One step of Adam on the rows that have a gradient: parameter and moments after it (torch.optim.SparseAdam).

    A row, along the first axis, has none if all elements of its gradient are 0: its parameter and moments stay as they
    are. With the rate and scale of `adam_rates`, in the others: m' = m beta1 + g (1 - beta1); v' = v beta2 + g g (1 -
    beta2); p' = p - m' / (sqrt(v') + eps) (rate / scale), where eps is added before the bias is corrected (Kingma and
    Ba 2015, end of section 2). A vector of several parameters has, for each of them, its first element in `offsets`,
    its `rows` and the elements of a row in `lengths`; elements of none stay as they are.
    """
    first = float(beta1)
    numbers = rounded(parameter, first, 1.0 - first, beta2, 1.0 - beta2, np.float64(rate) / np.float64(scale), eps)
    arrays = (gradient, parameter, moment1, moment2)
    outs = tuple(np.array(x, order="C") for x in arrays[1:])
    flat = [x.reshape(-1) for x in (gradient, *outs)]
    for offset, count, length in RowLayout(offsets, rows, lengths).segments(parameter.shape):
        tables = [x[offset : offset + count * length].reshape(count, length) for x in flat]
        found = np.flatnonzero((tables[0] != 0).any(axis=1))
        stepped = _stepped([table[found] for table in tables], numbers)
        for table, values in zip(tables[1:], stepped, strict=True):
            table[found] = values
    return stored(outs, out)


def _stepped(vectors: Sequence[Array], numbers: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Return parameter and moments of rows that have a gradient."""
    g, p, m, v = (x.astype(FLOAT32) if x.dtype == FLOAT16 else x for x in vectors)
    keep1, fresh1, keep2, fresh2, factor, tiny = numbers
    m = m * keep1 + g * fresh1
    v = v * keep2 + g * g * fresh2
    return p - m / (np.sqrt(v) + tiny) * factor, m, v


@lazy_adam_update.vjp_through
def _(
    gradient: Value,
    parameter: Value,
    moment1: Value,
    moment2: Value,
    beta1: Value,
    rate: Value,
    scale: Value,
    *,
    beta2: float,
    eps: float,
    **layout: Any,
) -> tuple[Value, Value, Value]:
    narrow, found = parameter.dtype, touched(gradient, RowLayout(**layout))
    gradient, parameter, moment1, moment2, beta1 = at_width(narrow, gradient, parameter, moment1, moment2, beta1)
    first = where(found, running_mean(moment1, gradient, beta1), moment1)
    second = where(found, running_mean(moment2, square(gradient), beta2), moment2)
    stepped = parameter - where(found, lazy_direction(first, where(found, second, 1.0), eps), 0.0) * (rate / scale)
    return cast(stepped, dtype=narrow), cast(first, dtype=narrow), cast(second, dtype=narrow)


def lazy_direction(moment1: Value, moment2: Value, eps: float) -> Value:
    """Return the first moment over the root of the second, in elementwise ops."""
    return moment1 / (sqrt(moment2) + eps)
