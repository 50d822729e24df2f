"""Random draws from keys, the numbers of engine.ops.random.random to the bit: masks, uniform numbers, new keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.dtypes import INT64
from engine.core.value import Array
from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.inline.streams import distance, folded, moved, multiply_add, output, started, stepped
from engine.execution.native.kernel import BITS, FLOATS, Kernel, inline, inline_exact, itemsize, kernel, kernel_of, real
from engine.execution.native.kernels.shared_loop import round_parts, run_round
from engine.execution.native.lowering import Argument, Call, Scratch, Work, lowers, raw
from engine.ops.random.random import bernoulli_threshold

BLOCK, PARTS = 512, 4
"""Words of a stream that are drawn before they are used, and of how many parts: each state waits for the one before."""
PART = BLOCK // PARTS
FACTOR_HIGH, FACTOR_LOW, PLUS_HIGH, PLUS_LOW = distance(PART)
SCRATCH_BYTES = 2 * BLOCK * 8
"""Scratch memory for the words of a block and for the lower halves of their states."""
SHARED = 1 << 14
"""Numbers of an iteration that threads share."""


@inline
def draw(place: Any, count: Any, high: Any, low: Any) -> Any:
    """Fill `count` words of scratch memory, at most a block, with the next random bits; return the state after them."""
    words, lows = view(place, count, np.uint64), view(place + BLOCK * 8, count, np.uint64)
    if count == BLOCK:
        high1, low1 = multiply_add(high, low, FACTOR_HIGH, FACTOR_LOW, PLUS_HIGH, PLUS_LOW)
        high2, low2 = multiply_add(high1, low1, FACTOR_HIGH, FACTOR_LOW, PLUS_HIGH, PLUS_LOW)
        high3, low3 = multiply_add(high2, low2, FACTOR_HIGH, FACTOR_LOW, PLUS_HIGH, PLUS_LOW)
        for i in range(PART):
            words[i], words[PART + i], words[2 * PART + i], words[3 * PART + i] = high, high1, high2, high3
            lows[i], lows[PART + i], lows[2 * PART + i], lows[3 * PART + i] = low, low1, low2, low3
            high, low = stepped(high, low)
            high1, low1 = stepped(high1, low1)
            high2, low2 = stepped(high2, low2)
            high3, low3 = stepped(high3, low3)
        high, low = high3, low3
    else:
        for i in range(count):
            words[i], lows[i] = high, low
            high, low = stepped(high, low)
    for i in range(words.size):
        words[i] = output(words[i], lows[i])
    return high, low


@inline
def choose(out: Any, chances: Any, threshold: Any, reached: Any, below: Any) -> None:
    """Set numbers by whether chances reach a threshold."""
    for i in range(out.size):
        out[i] = reached if np.uint32(chances[i]) >= threshold else below


@inline_exact
def spread(out: Any, factor: Any, low: Any, top: Any) -> None:
    """Scale, shift and limit numbers, each operation rounded as NumPy's: the sum may be rounded to the upper end."""
    for i in range(out.size):
        value = out[i] * factor + low
        out[i] = top if value > top else value


@inline
def stream_at(key: Any, step: Any, words: Any) -> Any:
    """Return the state of a key's stream after a number of words."""
    high, low = started(view(key, 1, np.uint64)[0], view(key + step, 1, np.uint64)[0])
    return moved(high, low, words)


def _mask_some(a: Any, index: Any) -> None:
    """Draw the numbers of an iteration."""
    threshold, each = np.uint32(a[6]), 64 // a[5]
    reached, below = real(float_of(a[7])), real(float_of(a[8]))
    done, stop = index * SHARED, min((index + 1) * SHARED, a[2])
    high, low = stream_at(a[0], a[1], (a[3] + done) // each)
    skipped = (a[3] + done) % each
    while done < stop:
        count = min(BLOCK * each - skipped, stop - done)
        high, low = draw(a[9], (skipped + count + each - 1) // each, high, low)
        out = view(a[4] + done * itemsize, count, real)
        if a[5] == 16:
            choose(out, view(a[9] + 2 * skipped, count, np.uint16), threshold, reached, below)
        else:
            choose(out, view(a[9] + 4 * skipped, count, np.uint32), threshold, reached, below)
        done += count
        skipped = 0


def _mask(a: Any) -> None:
    """One of two numbers by chance.

    Words: key and its stride; how many results, contiguous, and how many of the key's lie before them; out; bits of a
    chance, and a threshold; what a result is from there on, and below; scratch for words of the stream.
    """
    run_round(a)


mask = Kernel(_mask, name="mask", parts=round_parts(_mask_some))


def _draw_some(a: Any, index: Any) -> None:
    """Draw the numbers of an iteration."""
    each = 8 // itemsize
    first, stop = index * SHARED, min((index + 1) * SHARED, a[2])
    high, low = stream_at(a[0], a[1], first // each)
    for start in range(first, stop, BLOCK * each):
        out = view(a[3] + start * itemsize, min(BLOCK * each, stop - start), real)
        high, low = draw(a[4], (out.size + each - 1) // each, high, low)
        if each == 2:
            halves = view(a[4], out.size, np.uint32)
            for i in range(out.size):
                out[i] = real(halves[i] >> np.uint32(8)) * real(2.0**-24)
        else:
            whole = view(a[4], out.size, np.uint64)
            for i in range(out.size):
                out[i] = real(whole[i] >> np.uint64(11)) * real(2.0**-53)


def _uniform(a: Any) -> None:
    """Numbers drawn evenly from 0 <= u < 1, the upper bits of 32 or 64.

    Words: key and its stride; how many results, contiguous; out; scratch for words of the stream.
    """
    run_round(a)


uniform = Kernel(_uniform, name="uniform", parts=round_parts(_draw_some))


@kernel
def into_range(a: Any) -> None:
    """Move numbers from 0 <= u < 1 to another range. Words: how many; where they are; factor, shift; the largest."""
    spread(view(a[1], a[0], real), real(float_of(a[2])), real(float_of(a[3])), real(float_of(a[4])))


@kernel_of(np.uint64)
def new_key(a: Any) -> None:
    """A key from a key and a number.

    Words: key and its stride; number, an int64; out and its stride.
    """
    high, low = view(a[0], 1, np.uint64)[0], view(a[0] + a[1], 1, np.uint64)[0]
    high, low = folded(high, low, view(a[2], 1, np.uint64)[0])
    view(a[3], 1, np.uint64)[0] = high
    view(a[3] + a[4], 1, np.uint64)[0] = low


def _shared(kernel: Kernel, out: Array, words: tuple[Argument, ...]) -> Call:
    return Call(kernel, out.dtype, words, SCRATCH_BYTES, iterations=max(-(-out.size // SHARED), 1))


def mask_calls(work: Work, p: float, below: float, reached: float, first: int = 0) -> list[Call] | None:
    """Return the calls that draw part of a mask.

    Args:
        work: the key, and a row-major result of bool or floats.
        p: the probability of `below`.
        below: one number.
        reached: the other.
        first: how many elements of the whole mask lie before the result.
    """
    (key,), (out,) = work.inputs, work.outputs
    made = raw(out)
    if made.dtype == BITS:  # what is chosen between are the bits of two numbers
        below, reached = (float(np.array(number, out.dtype).view(BITS)) for number in (below, reached))
    width, threshold = bernoulli_threshold(p)
    if made.dtype not in (*FLOATS, np.uint8, BITS) or not made.flags.c_contiguous or threshold >= 2**32:
        return None
    words = (key, key.strides[0], made.size, first, made, width, threshold, float(reached), float(below), Scratch())
    return [_shared(mask, made, words)]


@lowers("dropout_mask")
def _(work: Work) -> list[Call] | None:
    p = work.attrs["p"]
    return mask_calls(work, p, 0.0, 1 / (1 - p) if p < 1 else 0.0)


@lowers("bernoulli")
def _(work: Work) -> list[Call] | None:
    return mask_calls(work, work.attrs["p"], 1.0, 0.0)


@lowers("random_uniform")
def _(work: Work) -> list[Call] | None:
    (key,), (out,) = work.inputs, work.outputs
    if out.dtype not in FLOATS or not out.flags.c_contiguous:
        return None
    low, high, number = work.attrs["low"], work.attrs["high"], out.dtype.type
    calls = [_shared(uniform, out, (key, key.strides[0], out.size, out, Scratch()))]
    if (low, high) != (0.0, 1.0):
        top = np.nextafter(number(high), number(low)) if low < high else number(high)
        calls.append(Call(into_range, out.dtype, (out.size, out, float(high - low), float(low), float(top))))
    return calls


@lowers("fold_in")
def _(work: Work) -> list[Call] | None:
    key, number = work.inputs
    (out,) = work.outputs
    if number.dtype != INT64:
        return None
    return [Call(new_key, np.dtype(np.uint64), (key, key.strides[0], number, out, out.strides[0]))]
