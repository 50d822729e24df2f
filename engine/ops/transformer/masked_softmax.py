"""ggml's soft_max: softmax of scaled scores with a mask and ALiBi slopes."""

from __future__ import annotations

import numpy as np

from engine.core.attributes import NonNegative
from engine.core.batching import Call, Outputs
from engine.core.declarations import AUTOCAST_FLOAT32
from engine.core.dtypes import BOOL, FLOAT16, is_float
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.registry import primitive
from engine.core.samples import booleans, sample
from engine.core.shape_rules import broadcast_shapes, require_float
from engine.core.sharding_rules import Case, Cut, along_first_axis, matrix_axes
from engine.core.value import Array, Spec, Value
from engine.ops.activation.softmax import softmax_backward
from engine.ops.math.arithmetic import scale as scaled
from engine.ops.reduce.reduce import max_over, sum_over


def check_mask(op: str, mask: Value | None, scores: tuple[int, ...]) -> None:
    """Raise an error for a mask that is neither bool nor float or does not broadcast to the scores."""
    if mask is None:
        return
    if mask.dtype != BOOL and not is_float(mask.dtype):
        raise DTypeError(f"{op}: a mask must be bool (true takes part) or float (added), not {mask.dtype.name}")
    if broadcast_shapes(mask.shape, scores) != scores:
        raise ShapeError(f"{op}: the mask {list(mask.shape)} does not broadcast to the scores {list(scores)}")


def apply_mask(scores: Array, mask: Array) -> None:
    """Add a float mask to the scores in place; with a bool one set the scores to -inf where it is false."""
    if mask.dtype == BOOL:
        np.copyto(scores, -np.inf, where=~mask)
    else:
        scores += mask


def exponentials(scores: Array, masked_row_zero: bool) -> tuple[Array, Array]:
    """Replace each row of scores by exp(s - top) and return the maxima (top) and the sums of the rows.

    A row of -inf becomes NaN, or with `masked_row_zero` 0 with the maximum inf and the sum 1.
    """
    top = max_over(scores, scores.ndim - 1)
    if masked_row_zero:
        top = np.where(top == -np.inf, np.inf, top)
    np.subtract(scores, top, out=scores)
    np.exp(scores, out=scores)
    total = sum_over(scores, (scores.ndim - 1,))
    if masked_row_zero:
        total[top == np.inf] = 1
    return top, total


def alibi_slopes(heads: int, max_bias: float) -> list[float]:
    """Return the factor of the mask for each head (Press et al. 2022; for other numbers than powers of 2 as ggml)."""
    power = 1 << max(heads.bit_length() - 1, 0)
    first, second = 2.0 ** (-max_bias / power), 2.0 ** (-max_bias / 2 / power)
    return [first ** (h + 1) if h < power else second ** (2 * (h - power) + 1) for h in range(heads)]


def _soft_max(x: Value, mask: Value | None = None, *, scale: float, max_bias: float, masked_row_zero: bool) -> Spec:
    require_float("soft_max", x)
    if not x.ndim or not x.shape[-1]:
        raise ShapeError(f"soft_max needs at least one score in a row, got shape {list(x.shape)}")
    check_mask("soft_max", mask, x.shape)
    if max_bias and (mask is None or mask.dtype == BOOL or x.ndim < 3):
        raise AttributeValueError(
            f"soft_max: max_bias {max_bias} needs a float mask and scores [..., heads, rows, columns]"
        )
    return x.spec


ROWS, HEADS = matrix_axes("11", "1"), matrix_axes("33", "3")


def _split_scores(case: Case) -> Cut | None:
    """Split any axis but the last one, or with slopes those in front of the heads."""
    found: Cut | None = (HEADS if case.attrs["max_bias"] else ROWS).split(case)
    return found


@primitive(
    shape_rule=_soft_max,
    aliases=("soft_max_ext",),
    numerics=AUTOCAST_FLOAT32,
    sharding=along_first_axis(_split_scores),
    samples=[
        sample((2, 3), scale=0.5),
        sample((3, 2, 4), (2, 4), max_bias=8.0),
        sample((2, 3), booleans(2, 3), masked_row_zero=True),
    ],
)
def soft_max(
    x: Array,
    mask: Array | None = None,
    *,
    scale: float = 1.0,
    max_bias: NonNegative = 0.0,
    masked_row_zero: bool = False,
    out: Array | None = None,
) -> Array:
    """softmax(scale x + slope mask) over the last axis, as ggml's soft_max_ext; the mask broadcasts to x.

    A float mask is added, a bool one is true where a score is used. With `max_bias` > 0 the slope of head h, on
    axis -3, is that of ALiBi; else it is 1. A row that is masked completely is NaN, or 0 with
    `masked_row_zero`.
    """
    scores = np.multiply(x, np.float32(scale) if x.dtype == FLOAT16 else x.dtype.type(scale))
    if mask is not None and max_bias:
        mask = mask * np.reshape(alibi_slopes(x.shape[-3], max_bias), (-1, 1, 1)).astype(scores.dtype)
    if mask is not None:
        apply_mask(scores, mask)
    _, total = exponentials(scores, masked_row_zero)
    if out is None:
        out = scores if scores.dtype == x.dtype else np.empty(x.shape, x.dtype)
    return np.divide(scores, total, out=out, casting="same_kind")


@soft_max.batch
def _(call: Call) -> Outputs:
    return call.again(call.spread(0), *(call.aligned(i, call.rank(0)) for i in range(1, len(call.inputs))))


@soft_max.vjp
def _(g: Value, y: Value, x: Value, mask: Value | None = None, *, scale: float, max_bias: float) -> tuple[object, ...]:
    through = softmax_backward(g, y)
    gx = through if scale == 1 else scaled(through, factor=scale)
    if mask is None:
        return (gx,)

    def of_mask() -> Value | None:
        if not is_float(mask.dtype):
            return None
        if not max_bias:
            return through
        return through * np.reshape(alibi_slopes(x.shape[-3], max_bias), (-1, 1, 1)).astype(x.dtype)

    return gx, of_mask
