"""Connectionist temporal classification: losses and gradients of rows by the recursions over their alignments.

The states of a row are its labels with a blank around each; rows of states have two more numbers in front, -inf, so
that the states before the first are impossible without a test.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.dtypes import INT64
from engine.core.value import Array
from engine.execution.native.inline.arithmetic import exp
from engine.execution.native.inline.logarithm import log
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import fill, larger
from engine.execution.native.kernel import FLOATS, inline, itemsize, kernel, real
from engine.execution.native.lowering import Argument, Call, Scratch, Status, Work, lowers

BEFORE = 2
"""Numbers in front of a row of states."""


@inline
def log_sum(x: Any, y: Any, z: Any, real: Any) -> Any:
    """Return log(exp(x) + exp(y) + exp(z)); -inf if all are."""
    top = larger(larger(x, y), z)
    top = real(0) if top == real(-np.inf) else top
    return log(exp(x - top) + exp(y - top) + exp(z - top)) + top


@inline
def has_valid_lengths(labels: Any, length: Any, given: Any, steps: Any, most: Any, classes: Any) -> Any:
    """Return whether lengths and labels of a row are in range."""
    if length < 0 or length > most or given < 0 or given > steps:
        return False
    found = 0
    for s in range(length):
        found += labels[s] < 0 or labels[s] >= classes
    return found == 0


@inline
def write_lattice(states: Any, skips: Any, labels: Any, length: Any, blank: Any, real: Any) -> None:
    """Write the class of each state, and 0 where the state two before may come right before it, else -inf."""
    for s in range(2 * length + 1):
        states[s] = labels[s // 2] if s % 2 else blank
        other = s >= 2 and states[s] != blank and states[s] != states[s - 2]
        skips[s] = real(0) if other else real(-np.inf)


@inline
def write_emissions(emissions: Any, x: Any, states: Any) -> None:
    """Write the logarithms of the probabilities of states at a step, of those of classes."""
    for s in range(emissions.size):
        emissions[s] = x[states[s]]


@inline
def log_likelihood(
    alpha: Any, kept: Any, width: Any, x: Any, step: Any, classes: Any, given: Any, states: Any, skips: Any,
    emissions: Any, itemsize: Any, real: Any,
) -> Any:  # fmt: skip
    """Compute the likelihood of the states after each step; return that of the label. All are logarithms.

    The row of step t is row t % kept of alpha.
    """
    count = emissions.size
    for t in range(given):
        now = view(alpha + (t % kept) * width * itemsize, count + BEFORE, real)
        now[0] = now[1] = real(-np.inf)
        write_emissions(emissions, view(x + t * step, classes, real), states)
        if t == 0:
            for s in range(count):
                now[s + BEFORE] = emissions[s] if s < 2 else real(-np.inf)
        else:
            old = alpha + ((t - 1) % kept) * width * itemsize
            same, one, two = (
                view(old + 2 * itemsize, count, real),
                view(old + itemsize, count, real),
                view(old, count, real),
            )
            new = now[BEFORE:]
            for s in range(emissions.size):
                new[s] = log_sum(same[s], one[s], two[s] + skips[s], real) + emissions[s]
    if given == 0:
        return real(0) if count == 1 else real(-np.inf)
    last = view(alpha + ((given - 1) % kept) * width * itemsize, count + BEFORE, real)
    return log_sum(last[count + 1], last[count] if count > 1 else real(-np.inf), real(-np.inf), real)


@kernel
def ctc_losses(a: Any) -> None:
    """Words: steps, rows, classes; x, the bytes from step to step, and from row to row; targets, how many of a row
    there are at most, and how many from row to row (0: one row's behind the other's); lengths of rows, and of their
    labels; blank; losses; scratch for alpha, states, skips and emissions; the width of alpha's rows; where to say that
    operands are invalid.
    """
    steps, rows, classes, most, width = a[0], a[1], a[2], a[7], a[17]
    given, lengths, losses = view(a[9], rows, np.int64), view(a[10], rows, np.int64), view(a[12], rows, real)
    begin, whole = 0, 0
    for r in range(rows):
        length = lengths[r]
        begin = r * a[8] if a[8] else whole
        whole += length
        labels = view(a[6] + begin * 8, most, np.int64)
        if (a[8] == 0 and whole > most) or not has_valid_lengths(labels, length, given[r], steps, most, classes):
            view(a[18], 1, np.int64)[0] = 1
            return
        count = 2 * length + 1
        states, skips, emissions = view(a[14], count, np.int64), view(a[15], count, real), view(a[16], count, real)
        write_lattice(states, skips, labels, length, a[11], real)
        x = a[3] + r * a[5]
        losses[r] = -log_likelihood(
            a[13], 2, width, x, a[4], classes, given[r], states, skips, emissions, itemsize, real
        )
    if a[8] == 0 and whole != most:
        view(a[18], 1, np.int64)[0] = 1


@kernel
def ctc_losses_gradient(a: Any) -> None:
    """Words as of `ctc_losses`, the gradient by the losses in place of these; then the gradient by x, the bytes from
    step to step of it, and from row to row; scratch for two rows of beta.
    """
    steps, rows, classes, most, width = a[0], a[1], a[2], a[7], a[17]
    given, lengths, weights = view(a[9], rows, np.int64), view(a[10], rows, np.int64), view(a[12], rows, real)
    begin, whole = 0, 0
    for r in range(rows):
        length = lengths[r]
        begin = r * a[8] if a[8] else whole
        whole += length
        labels = view(a[6] + begin * 8, most, np.int64)
        if (a[8] == 0 and whole > most) or not has_valid_lengths(labels, length, given[r], steps, most, classes):
            view(a[18], 1, np.int64)[0] = 1
            return
        for t in range(steps):
            fill(view(a[19] + t * a[20] + r * a[21], classes, real), real(0))
        if weights[r] == real(0):
            continue
        count = 2 * length + 1
        states, skips, emissions = view(a[14], count, np.int64), view(a[15], count, real), view(a[16], count, real)
        write_lattice(states, skips, labels, length, a[11], real)
        x = a[3] + r * a[5]
        total = log_likelihood(
            a[13], steps, width, x, a[4], classes, given[r], states, skips, emissions, itemsize, real
        )
        # What follows a step given the state there, and, behind the states, two that are impossible.
        beta, rest = view(a[22], count, real), view(a[22] + width * itemsize, count + BEFORE, real)
        rest[count] = rest[count + 1] = real(-np.inf)
        for s in range(count):
            beta[s] = real(0) if s >= count - 2 else real(-np.inf)
        for t in range(given[r] - 1, -1, -1):
            if t < given[r] - 1:
                for s in range(count):
                    rest[s] = beta[s] + emissions[s]
                for s in range(count):
                    two = rest[s + 2] + (skips[s + 2] if s + 2 < count else real(-np.inf))
                    beta[s] = log_sum(rest[s], rest[s + 1], two, real)
            write_emissions(emissions, view(x + t * a[4], classes, real), states)
            alpha = view(a[13] + (t * width + BEFORE) * itemsize, count, real)
            out = view(a[19] + t * a[20] + r * a[21], classes, real)
            for s in range(count):
                out[states[s]] -= weights[r] * exp(alpha[s] + beta[s] - total)
    if a[8] == 0 and whole != most:
        view(a[18], 1, np.int64)[0] = 1


def _words(work: Work, x: Array, operands: tuple[Array, Array, Array], result: Array, kept: int) -> tuple[
    tuple[Argument, ...], int, int
] | None:  # fmt: skip
    """Return the words that both kernels have, the width of rows of states, and the bytes of scratch memory."""
    targets, *lengths = operands
    if x.dtype not in FLOATS or x.strides[-1] != x.itemsize or not x.size or not result.flags.c_contiguous:
        return None
    if any(each.dtype != INT64 or not each.flags.c_contiguous for each in operands):
        return None
    most = targets.shape[-1]
    width = 2 * most + 1 + BEFORE
    sizes = (kept * width * x.itemsize, width * 8, width * x.itemsize, width * x.itemsize, 2 * width * x.itemsize)
    places = [0]
    for size in sizes:
        places.append(places[-1] + -(-size // 64) * 64)
    apart = most if targets.ndim == 2 else 0
    blank = work.attrs["blank"]
    return (
        (*x.shape, x, *x.strides[:2], targets, most, apart, *lengths, blank, result,
         *(Scratch(place) for place in places[:4]), width, Status()),
        places[4],
        places[5],
    )  # fmt: skip


@lowers("ctc_losses")
def _(work: Work) -> list[Call] | None:
    (x, *operands), (losses,) = work.inputs, work.outputs
    found = _words(work, x, (operands[0], operands[1], operands[2]), losses, 2)
    if found is None or losses.dtype != x.dtype:
        return None
    words, _, scratch = found
    return [Call(ctc_losses, x.dtype, words, scratch=scratch)]


@lowers("ctc_losses_backward")
def _(work: Work) -> list[Call] | None:
    (g, x, *operands), (out,) = work.inputs, work.outputs
    found = _words(work, x, (operands[0], operands[1], operands[2]), g, x.shape[0])
    if found is None or not g.dtype == out.dtype == x.dtype or out.strides[-1] != out.itemsize:
        return None
    words, rows_of_beta, scratch = found
    return [Call(ctc_losses_gradient, x.dtype, (*words, out, *out.strides[:2], Scratch(rows_of_beta)), scratch=scratch)]
