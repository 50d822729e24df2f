"""Normalisation of channels that have few positions, as the columns of a layer's output: row by row.

An image is a row of its channels' positions, which are added up side by side; then those of a channel are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.dtypes import DType
from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.inline.rows import fill
from engine.execution.native.kernel import inline, kernel, real
from engine.execution.native.lowering import Memory, Scratch

FEW = 32
"""Positions of a channel from which on a row of these alone fills registers."""
BLOCK = 128
"""Rows that are added up in their own dtype; blocks are in float64."""
PARTS, TOTALS = 3, 3
"""Rows of numbers, and of float64, that kernels need beside the row of means."""


@inline
def add_block(totals: Any, parts: Any) -> None:
    """Add the sums of a block of rows to the totals, and start the next block."""
    for i in range(totals.size):
        totals[i] += np.float64(parts[i])
        parts[i] = 0


@inline
def of_channel(totals: Any, channel: Any, positions: Any) -> Any:
    """Return the sum over the positions of a channel."""
    result = 0.0
    for p in range(positions):
        result += totals[channel * positions + p]
    return result


@inline
def set_channel(row: Any, channel: Any, positions: Any, value: Any) -> None:
    """Set the positions of a channel."""
    for p in range(positions):
        row[channel * positions + p] = value


@inline
def write_means(means: Any, parts: Any, totals: Any, x: Any, step: Any, rows: Any, channels: Any, real: Any) -> None:
    """Write the mean of each channel at each of its positions."""
    fill(parts, real(0))
    fill(totals, 0.0)
    for r in range(rows):
        row = view(x + r * step, parts.size, real)
        for i in range(parts.size):
            parts[i] += row[i]
        if r % BLOCK == BLOCK - 1 or r == rows - 1:
            add_block(totals, parts)
    positions = means.size // channels
    for channel in range(channels):
        set_channel(means, channel, positions, real(of_channel(totals, channel, positions) / (rows * positions)))


@kernel
def batch_norm_columns(a: Any) -> None:
    """Normalise by the statistics of the batch. Words as of `batch_norm`, then scratch: see `scratch_of_columns`."""
    rows, channels, positions, step = a[0], a[1], a[2], a[3]
    weight, bias = view(a[6], channels, real), view(a[7], channels, real)
    old_mean, old_variance = view(a[8], channels, real), view(a[9], channels, real)
    new_mean, new_variance = view(a[11], channels, real), view(a[12], channels, real)
    momentum, eps, count, width = float_of(a[13]), float_of(a[14]), rows * positions, channels * positions
    means, parts, shifts = view(a[16], width, real), view(a[17], width, real), view(a[18], width, real)
    totals = view(a[20], width, np.float64)
    write_means(means, parts, totals, a[5], step, rows, channels, real)
    fill(totals, 0.0)
    for r in range(rows):
        row = view(a[5] + r * step, width, real)
        for i in range(parts.size):
            centred = row[i] - means[i]
            parts[i] += centred * centred
        if r % BLOCK == BLOCK - 1 or r == rows - 1:
            add_block(totals, parts)
    for channel in range(channels):
        squares, mean = of_channel(totals, channel, positions), np.float64(means[channel * positions])
        factor = real(np.float64(weight[channel]) / np.sqrt(squares / count + eps))
        set_channel(parts, channel, positions, factor)
        set_channel(shifts, channel, positions, bias[channel])
        new_mean[channel] = real((1.0 - momentum) * old_mean[channel] + momentum * mean)
        new_variance[channel] = real((1.0 - momentum) * old_variance[channel] + momentum * (squares / (count - 1)))
    for r in range(rows):
        row, out = view(a[5] + r * step, width, real), view(a[10] + r * a[15], width, real)
        for i in range(out.size):
            out[i] = (row[i] - means[i]) * parts[i] + shifts[i]


@kernel
def batch_norm_columns_gradient(a: Any) -> None:
    """Words as of `batch_norm_gradient`, then scratch: see `scratch_of_columns`."""
    rows, channels, positions, step = a[0], a[1], a[2], a[3]
    weight, eps = view(a[7], channels, real), float_of(a[11])
    by_weight, by_bias = view(a[9], channels, real), view(a[10], channels, real)
    count, width = rows * positions, channels * positions
    means, squares = view(a[14], width, real), view(a[15], width, real)
    products, terms = view(a[16], width, real), view(a[17], width, real)
    all_squares, all_products = view(a[18], width, np.float64), view(a[19], width, np.float64)
    all_terms = view(a[20], width, np.float64)
    write_means(means, squares, all_squares, a[6], a[12], rows, channels, real)
    fill(products, real(0))
    fill(terms, real(0))
    fill(all_squares, 0.0)
    fill(all_products, 0.0)
    fill(all_terms, 0.0)
    for r in range(rows):
        left, right = view(a[5] + r * step, width, real), view(a[6] + r * a[12], width, real)
        for i in range(squares.size):
            centred = right[i] - means[i]
            squares[i] += centred * centred
            products[i] += left[i] * centred
            terms[i] += left[i]
        if r % BLOCK == BLOCK - 1 or r == rows - 1:
            add_block(all_squares, squares)
            add_block(all_products, products)
            add_block(all_terms, terms)
    for channel in range(channels):
        factor = 1.0 / np.sqrt(of_channel(all_squares, channel, positions) / count + eps)
        product, term = of_channel(all_products, channel, positions), of_channel(all_terms, channel, positions)
        by_weight[channel], by_bias[channel] = real(product * factor), real(term)
        set_channel(squares, channel, positions, real(factor * weight[channel]))
        set_channel(products, channel, positions, real(product * factor * factor / count))
        set_channel(terms, channel, positions, real(term / count))
    for r in range(rows):
        left, right = view(a[5] + r * step, width, real), view(a[6] + r * a[12], width, real)
        out = view(a[8] + r * a[13], width, real)
        for i in range(out.size):
            out[i] = (left[i] - ((right[i] - means[i]) * products[i] + terms[i])) * squares[i]


def scratch_of_columns(width: int, dtype: DType) -> tuple[list[Scratch], int]:
    """Return the scratch memory of both kernels, in the order of their words, and its bytes."""
    memory = Memory()
    own = [memory.take(width * dtype.itemsize) for _ in range(1 + PARTS)]
    return own + [memory.take(width * 8) for _ in range(TOTALS)], memory.size
