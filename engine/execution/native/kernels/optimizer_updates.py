"""Whole steps of optimizers in one pass over parameters, gradients and state."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.dtypes import FLOAT64, INT64
from engine.execution.native.inline.matrix_tiles import prefetch_rows
from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.kernel import Kernel, itemsize, kernel_of, real
from engine.execution.native.lowering import Argument, Call, Work, alike, lowers
from engine.ops.optimizer.lazy import RowLayout

PIECE = 256
"""Numbers that are stepped at a time, while the next ones are fetched."""
BLOCK = 8 * PIECE
"""Numbers of the gradient whose squares are added up in their own dtype, when they are first read."""
LINE_BYTES = 64


@kernel_of(np.float64)
def adam_rates(a: Any) -> None:
    """Words: count, int64; learning rate; beta1; beta2; rate; scale (see the op)."""
    count = np.float64(view(a[0], 1, np.int64)[0])
    lr, beta1 = view(a[1], 1, np.float64)[0], view(a[2], 1, np.float64)[0]
    view(a[4], 1, np.float64)[0] = lr / (1.0 - beta1**count)
    view(a[5], 1, np.float64)[0] = 1.0 / np.sqrt(1.0 - float_of(a[3]) ** count)


def brought(source: Any, target: Any, n: Any) -> None:
    """Copy a vector to where its new values go.

    Vectors are stepped where they are: a compiler that must fear that results lie over operands takes one number at a
    time.
    """
    if source != target:
        given, to = view(source, n, real), view(target, n, real)
        for i in range(given.size):
            to[i] = given[i]


def fetched(parameters: Any, start: Any, n: Any) -> None:
    """Fetch the parameters behind the piece at `start`, of the first piece itself too, to be written.

    Other cores hold them, which have read them. Without it one store after another waits until a line is this core's.
    """
    first, last = start + PIECE if start else 0, min(start + 2 * PIECE, n)
    if first < last:
        lines = ((last - first) * itemsize + LINE_BYTES - 1) // LINE_BYTES
        prefetch_rows(parameters + first * itemsize, LINE_BYTES, lines)


def block_squares(gradient: Any, start: Any, n: Any) -> Any:
    """Return the sum of the squares of the block at `start`, in float64; 0 if none starts there."""
    part = real(0)
    if start % BLOCK == 0:
        block = view(gradient + start * itemsize, min(BLOCK, n - start), real)
        for i in range(block.size):
            part += block[i] * block[i]
    return np.float64(part)


def _adam(a: Any) -> None:
    """Words: n; gradient, parameter, two moments; beta1, lr, rate, scale; new parameter and moments; beta2, eps, decay,
    and whether the decay is decoupled; where the sum of the squares of the gradient goes, 0 if nowhere.
    """
    n = a[0]
    for place in range(2, 5):
        bring(a[place], a[place + 7], n)
    wide_beta1, lr = view(a[5], 1, np.float64)[0], view(a[6], 1, np.float64)[0]
    rate, scale = real(view(a[7], 1, np.float64)[0]), real(view(a[8], 1, np.float64)[0])
    wide_beta2, decay = float_of(a[12]), float_of(a[14])
    beta1, fresh1 = real(wide_beta1), real(1.0 - wide_beta1)
    beta2, fresh2 = real(wide_beta2), real(1.0 - wide_beta2)
    eps, added, shrink = real(float_of(a[13])), real(0), real(1)
    if a[15]:
        shrink = real(1.0 - lr * decay)
    else:
        added = real(decay)
    total = 0.0
    for start in range(0, n, PIECE):
        fetch(a[9], start, n)
        if a[16]:
            total += squares(a[1], start, n)
        shift, size = start * itemsize, min(PIECE, n - start)
        gradients, parameters = view(a[1] + shift, size, real), view(a[9] + shift, size, real)
        firsts, seconds = view(a[10] + shift, size, real), view(a[11] + shift, size, real)
        if added == real(0):  # what is not added is not looked at either: it may be infinite
            for i in range(gradients.size):
                g = gradients[i]
                m = firsts[i] * beta1 + g * fresh1
                v = seconds[i] * beta2 + (g * g) * fresh2
                firsts[i] = m
                seconds[i] = v
                parameters[i] = parameters[i] * shrink - (m / (np.sqrt(v) * scale + eps)) * rate
        else:
            for i in range(gradients.size):
                g = gradients[i] + parameters[i] * added
                m = firsts[i] * beta1 + g * fresh1
                v = seconds[i] * beta2 + (g * g) * fresh2
                firsts[i] = m
                seconds[i] = v
                parameters[i] -= (m / (np.sqrt(v) * scale + eps)) * rate
    if a[16]:
        view(a[16], 1, real)[0] = real(total)


def _sgd(a: Any) -> None:
    """Words: n; gradient, parameter; lr; new parameter; decay, and whether it is decoupled; where the sum of the
    squares of the gradient goes, 0 if nowhere.
    """
    n = a[0]
    bring(a[2], a[4], n)
    lr, decay = view(a[3], 1, np.float64)[0], float_of(a[5])
    rate, added, shrink = real(lr), real(0), real(1)
    if a[6]:
        shrink = real(1.0 - lr * decay)
    else:
        added = real(decay)
    total = 0.0
    for start in range(0, n, PIECE):
        fetch(a[4], start, n)
        if a[7]:
            total += squares(a[1], start, n)
        shift, size = start * itemsize, min(PIECE, n - start)
        gradients, parameters = view(a[1] + shift, size, real), view(a[4] + shift, size, real)
        for i in range(gradients.size):
            p = parameters[i]
            parameters[i] = p * shrink - (gradients[i] + p * added) * rate
    if a[7]:
        view(a[7], 1, real)[0] = real(total)


def _momentum(a: Any) -> None:
    """Words: n; gradient, parameter, buffer; momentum, share, lr; new parameter and buffer; is it Nesterov's; decay,
    and whether it is decoupled; where the sum of the squares of the gradient goes, 0 if nowhere.
    """
    n = a[0]
    bring(a[2], a[7], n)
    bring(a[3], a[8], n)
    kept, share = real(view(a[4], 1, np.float64)[0]), real(view(a[5], 1, np.float64)[0])
    lr, decay = view(a[6], 1, np.float64)[0], float_of(a[10])
    rate, added, shrink = real(lr), real(0), real(1)
    if a[11]:
        shrink = real(1.0 - lr * decay)
    else:
        added = real(decay)
    total = 0.0
    for start in range(0, n, PIECE):
        fetch(a[7], start, n)
        if a[12]:
            total += squares(a[1], start, n)
        shift, size = start * itemsize, min(PIECE, n - start)
        gradients, parameters = view(a[1] + shift, size, real), view(a[7] + shift, size, real)
        buffers = view(a[8] + shift, size, real)
        # What does not enter is not looked at: loops of their own for Nesterov's direction.
        if a[9]:
            for i in range(gradients.size):
                p = parameters[i]
                g = gradients[i] + p * added
                b = buffers[i] * kept + g * share
                buffers[i] = b
                parameters[i] = p * shrink - (g + b * kept) * rate
        else:
            for i in range(gradients.size):
                p = parameters[i]
                b = buffers[i] * kept + (gradients[i] + p * added) * share
                buffers[i] = b
                parameters[i] = p * shrink - b * rate
    if a[12]:
        view(a[12], 1, real)[0] = real(total)


def _lazy_adam(a: Any) -> None:
    """Words: n; gradient, parameter, two moments; beta1, rate, scale; new parameter and moments; beta2, eps; how many
    parameters; of each: first element, rows, elements of a row.
    """
    n = a[0]
    for place in range(2, 5):
        bring(a[place], a[place + 6], n)
    wide_beta1, wide_beta2 = view(a[5], 1, np.float64)[0], float_of(a[11])
    rate = real(view(a[6], 1, np.float64)[0] / view(a[7], 1, np.float64)[0])
    beta1, fresh1 = real(wide_beta1), real(1.0 - wide_beta1)
    beta2, fresh2 = real(wide_beta2), real(1.0 - wide_beta2)
    eps = real(float_of(a[12]))
    for segment in range(a[13]):
        start, rows, length = a[14 + 3 * segment], a[15 + 3 * segment], a[16 + 3 * segment]
        for row in range(rows):
            at = start + row * length
            gradient = view(a[1] + at * itemsize, length, real)
            size = real(0)
            for i in range(gradient.size):
                size += np.abs(gradient[i])
            if size != real(0):
                first, second = view(a[9] + at * itemsize, length, real), view(a[10] + at * itemsize, length, real)
                parameter = view(a[8] + at * itemsize, length, real)
                for i in range(gradient.size):
                    g = gradient[i]
                    m = first[i] * beta1 + g * fresh1
                    v = second[i] * beta2 + (g * g) * fresh2
                    first[i] = m
                    second[i] = v
                    parameter[i] -= m / (np.sqrt(v) + eps) * rate


def bring(*_: Any) -> None:
    """Stand for `brought`."""
    raise NotImplementedError


def fetch(*_: Any) -> None:
    """Stand for `fetched`."""
    raise NotImplementedError


def squares(*_: Any) -> Any:
    """Stand for `block_squares`."""
    raise NotImplementedError


_PARTS = {"bring": brought, "fetch": fetched, "squares": block_squares}
adam = Kernel(_adam, name="adam", parts=_PARTS)
lazy_adam = Kernel(_lazy_adam, name="lazy_adam", parts={"bring": brought})
sgd = Kernel(_sgd, name="sgd", parts=_PARTS)
momentum = Kernel(_momentum, name="momentum", parts=_PARTS)


@lowers("adam_rates")
def _(work: Work) -> list[Call] | None:
    step, lr, beta1 = work.inputs
    if step.dtype != INT64 or not lr.dtype == beta1.dtype == FLOAT64:
        return None
    words: tuple[Argument, ...] = (step, lr, beta1, float(work.attrs["beta2"]), *work.outputs)
    return [Call(adam_rates, FLOAT64, words)]


def _fits(vectors: int, work: Work) -> bool:
    """Tell whether the first operands are vectors of one dtype, and the others float64 numbers."""
    return alike(*work.inputs[:vectors], *work.outputs) and all(x.dtype == FLOAT64 for x in work.inputs[vectors:])


@lowers("adam_update")
def _(work: Work) -> list[Call] | None:
    if not _fits(4, work):
        return None
    attrs = work.attrs
    decay = (float(attrs["weight_decay"]), int(attrs["decoupled"]))
    words: tuple[Argument, ...] = (
        work.inputs[0].size,
        *work.inputs,
        *work.outputs,
        float(attrs["beta2"]),
        float(attrs["eps"]),
        *decay,
        0,
    )
    return [Call(adam, work.inputs[0].dtype, words)]


@lowers("lazy_adam_update")
def _(work: Work) -> list[Call] | None:
    if not _fits(4, work):
        return None
    attrs, like = work.attrs, work.inputs[1]
    layout = RowLayout(attrs["offsets"], attrs["rows"], attrs["lengths"])
    places = [number for segment in layout.segments(like.shape) for number in segment]
    numbers = (float(attrs["beta2"]), float(attrs["eps"]), len(places) // 3)
    return [Call(lazy_adam, like.dtype, (like.size, *work.inputs, *work.outputs, *numbers, *places))]


@lowers("sgd_update")
def _(work: Work) -> list[Call] | None:
    if not _fits(2, work):
        return None
    decay = (float(work.attrs["weight_decay"]), int(work.attrs["decoupled"]))
    return [Call(sgd, work.inputs[0].dtype, (work.inputs[0].size, *work.inputs, *work.outputs, *decay, 0))]


@lowers("momentum_update")
def _(work: Work) -> list[Call] | None:
    if not _fits(3, work):
        return None
    attrs = work.attrs
    decay = (float(attrs["weight_decay"]), int(attrs["decoupled"]))
    numbers = (int(attrs["nesterov"]), *decay, 0)
    words: tuple[Argument, ...] = (work.inputs[0].size, *work.inputs, *work.outputs, *numbers)
    return [Call(momentum, work.inputs[0].dtype, words)]
