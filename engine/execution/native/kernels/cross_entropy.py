"""Softmax and cross entropy in one pass over the rows of logits, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.dtypes import INT64
from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.inline.logarithm import log
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import exponentials, largest, log_loss
from engine.execution.native.inline.short_softmax import TOGETHER, add_exponentials, scratch_of_rows, write_rows
from engine.execution.native.kernel import inline, itemsize, kernel, real
from engine.execution.native.lowering import Call, Status, Work, alike, lowers

FEW = 32
"""Rows of up to this many classes are quicker number by number than by vector registers with a rest."""


@inline
def few_exponentials(out: Any, x: Any) -> Any:
    """Set a short row beside x to exp(x - its largest); return that and the sum."""
    top, total = x[0], x.dtype.type(0)
    for i in range(x.size):
        top = x[i] if x[i] > top else top
    # NaN is never larger; it comes out of the exponentials.
    for i in range(x.size):
        out[i] = exp(x[i] - top)
    for i in range(x.size):
        total += out[i]
    return top, total


@kernel
def cross_entropy(a: Any) -> None:
    """Loss and probabilities of rows.

    Words: rows, classes; logits, their row stride in bytes; targets, int64; losses; probabilities; the target that
    leaves a row out; where to say that a target is no class; those of `scratch_of_rows`.
    """
    rows, classes, ignored = a[0], a[1], a[7]
    targets, losses = view(a[4], rows, np.int64), view(a[5], rows, real)
    if a[12] > 0:
        of_few_classes(a, itemsize, real)
        return
    for r in range(rows):
        logits = view(a[2] + r * a[3], classes, real)
        chances = view(a[6] + r * classes * itemsize, classes, real)
        if classes <= FEW:
            top, total = few_exponentials(chances, logits)
        else:
            top = largest(logits)
            total = real(exponentials(chances, logits, top))
        share = real(1) / total
        target = targets[r]
        if target == ignored:
            losses[r] = real(0)
        elif target < 0 or target >= classes:
            view(a[8], 1, np.int64)[0] = 1
        else:
            losses[r] = log_loss(logits[target], top, np.log(total))
        for i in range(chances.size):
            chances[i] *= share


@inline
def of_few_classes(a: Any, itemsize: Any, real: Any) -> None:
    """Compute losses and probabilities of short rows."""
    classes, lanes, ignored, apart = a[1], a[12], a[7], TOGETHER * itemsize
    for first in range(0, a[0], TOGETHER):
        rows, source = min(TOGETHER, a[0] - first), a[2] + first * a[3]
        tops, sums = view(a[10], rows, real), view(a[11], rows, np.float64)
        targets, losses = view(a[4] + first * 8, rows, np.int64), view(a[5] + first * itemsize, rows, real)
        add_exponentials(a[9], source, a[3], tops, sums, classes, lanes, False, itemsize, real)
        for e in range(losses.size):
            losses[e] = real(log(sums[e]))
            sums[e] = 1.0 / sums[e]
        for i in range(classes):
            terms = view(a[9] + i * apart, rows, real)
            for e in range(terms.size):
                terms[e] *= real(sums[e])
        for e in range(rows):
            target = targets[e]
            if target == ignored:
                losses[e] = real(0)
            elif target < 0 or target >= classes:
                view(a[8], 1, np.int64)[0] = 1
            else:
                logit = view(source + e * a[3] + target * itemsize, 1, real)[0]
                losses[e] = log_loss(logit, tops[e], losses[e])
        step = classes * itemsize
        write_rows(a[6] + first * step, step, a[9], rows, classes, lanes, itemsize, real)


@kernel
def cross_entropy_gradient(a: Any) -> None:
    """Gradient of the losses of rows.

    Words: rows, classes; g, its stride in bytes; probabilities; targets, int64; out; the target that leaves a row out;
    where to say that a target is no class.
    """
    rows, classes, ignored = a[0], a[1], a[7]
    targets = view(a[5], rows, np.int64)
    for r in range(rows):
        g = view(a[2] + r * a[3], 1, real)[0]
        chances = view(a[4] + r * classes * itemsize, classes, real)
        out = view(a[6] + r * classes * itemsize, classes, real)
        target = targets[r]
        if target == ignored:
            for i in range(out.size):
                out[i] = real(0)
        elif target < 0 or target >= classes:
            view(a[8], 1, np.int64)[0] = 1
        else:
            for i in range(out.size):
                out[i] = chances[i] * g
            out[target] -= g


@lowers("softmax_cross_entropy")
def _(work: Work) -> list[Call] | None:
    logits, target = work.inputs
    losses, probabilities = work.outputs
    if not (logits.size and alike(losses, probabilities) and logits.dtype == losses.dtype):
        return None
    if target.dtype != INT64 or not target.flags.c_contiguous or logits.strides[1] != logits.itemsize:
        return None
    rows, classes = logits.shape
    ignored = work.attrs["ignore_index"]
    words = (rows, classes, logits, logits.strides[0], target, losses, probabilities, ignored, Status())
    more, scratch = scratch_of_rows(rows, classes, logits.itemsize)
    return [Call(cross_entropy, logits.dtype, (*words, *more), scratch=scratch)]


@lowers("softmax_cross_entropy_backward")
def _(work: Work) -> list[Call] | None:
    g, probabilities, target = work.inputs
    (out,) = work.outputs
    if not (out.size and alike(out, probabilities) and g.dtype == out.dtype):
        return None
    if target.dtype != INT64 or not target.flags.c_contiguous:
        return None
    rows, classes = out.shape
    words = (rows, classes, g, g.strides[0], probabilities, target, out, work.attrs["ignore_index"], Status())
    return [Call(cross_entropy_gradient, out.dtype, words)]
