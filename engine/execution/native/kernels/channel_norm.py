"""Normalisation over all axes but the channels', axis 1: batch_norm and its gradient, and standardization.

Each channel is processed before the next, so that it is still in the cache when it is read again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.dtypes import DType
from engine.core.shape_rules import normalize_axes
from engine.core.value import Array
from engine.execution.native.inline.pointers import float_of, view
from engine.execution.native.inline.rows import PIECE, dot, total
from engine.execution.native.kernel import FLOATS, Kernel, inline, kernel, real
from engine.execution.native.kernels.column_norm import (
    FEW,
    batch_norm_columns,
    batch_norm_columns_gradient,
    scratch_of_columns,
)
from engine.execution.native.lowering import Argument, Call, Work, alike, lowers


@inline
def channel_mean(x: Any, images: Any, step: Any, positions: Any, real: Any) -> Any:
    """Return the mean of a channel, as a float64."""
    result = 0.0
    for image in range(images):
        result += total(view(x + image * step, positions, real))
    return result / (images * positions)


@inline
def channel_squares(x: Any, images: Any, step: Any, positions: Any, mean: Any, real: Any) -> Any:
    """Return the sum of the squares of a channel's distances from its mean, as a float64."""
    result = 0.0
    for image in range(images):
        row = view(x + image * step, positions, real)
        for start in range(0, positions, PIECE):
            piece = row[start : start + PIECE]
            part = real(0)
            for i in range(piece.size):
                centred = piece[i] - mean
                part += centred * centred
            result += np.float64(part)
    return result


@inline
def write_scaled(
    y: Any, y_step: Any, x: Any, x_step: Any, images: Any, positions: Any, mean: Any, factor: Any, bias: Any, real: Any
) -> None:
    """Write (x - mean) factor + bias."""
    for image in range(images):
        row, out = view(x + image * x_step, positions, real), view(y + image * y_step, positions, real)
        for i in range(out.size):
            out[i] = (row[i] - mean) * factor + bias


@kernel
def batch_norm(a: Any) -> None:
    """Normalise by the statistics of the batch.

    Words: images, channels, positions; bytes from image to image of x, and from channel to channel; x, weight, bias,
    running mean and variance; y, new mean and variance; momentum, eps; bytes from image to image of y.
    """
    images, channels, positions, step, apart = a[0], a[1], a[2], a[3], a[4]
    weight, bias = view(a[6], channels, real), view(a[7], channels, real)
    old_mean, old_variance = view(a[8], channels, real), view(a[9], channels, real)
    new_mean, new_variance = view(a[11], channels, real), view(a[12], channels, real)
    momentum, eps = float_of(a[13]), float_of(a[14])
    count = images * positions
    for channel in range(channels):
        x, y = a[5] + channel * apart, a[10] + channel * apart
        mean = real(channel_mean(x, images, step, positions, real))
        squares = channel_squares(x, images, step, positions, mean, real)
        factor = real(np.float64(weight[channel]) / np.sqrt(squares / count + eps))
        write_scaled(y, a[15], x, step, images, positions, mean, factor, bias[channel], real)
        new_mean[channel] = real((1.0 - momentum) * old_mean[channel] + momentum * mean)
        new_variance[channel] = real((1.0 - momentum) * old_variance[channel] + momentum * (squares / (count - 1)))


@kernel
def running_norm(a: Any) -> None:
    """Normalise by running statistics, which stay. Words as of `batch_norm`."""
    images, channels, positions, step, apart = a[0], a[1], a[2], a[3], a[4]
    weight, bias = view(a[6], channels, real), view(a[7], channels, real)
    old_mean, old_variance = view(a[8], channels, real), view(a[9], channels, real)
    new_mean, new_variance = view(a[11], channels, real), view(a[12], channels, real)
    eps = float_of(a[14])
    for channel in range(channels):
        x, y = a[5] + channel * apart, a[10] + channel * apart
        factor = real(np.float64(weight[channel]) / np.sqrt(np.float64(old_variance[channel]) + eps))
        shift = bias[channel] - old_mean[channel] * factor
        write_scaled(y, a[15], x, step, images, positions, real(0), factor, shift, real)
        new_mean[channel], new_variance[channel] = old_mean[channel], old_variance[channel]


@kernel
def standardize_channels(a: Any) -> None:
    """Words: images, channels, positions; steps in bytes of the images of x, and of channels; x, y, factors; eps;
    centre; the step of the images of y.
    """
    images, channels, positions, step, apart = a[0], a[1], a[2], a[3], a[4]
    factors, eps = view(a[7], channels, real), float_of(a[8])
    for channel in range(channels):
        x, y = a[5] + channel * apart, a[6] + channel * apart
        mean = real(channel_mean(x, images, step, positions, real)) if a[9] else real(0)
        squares = channel_squares(x, images, step, positions, mean, real)
        factors[channel] = real(1.0 / np.sqrt(squares / (images * positions) + eps))
        write_scaled(y, a[10], x, step, images, positions, mean, factors[channel], real(0), real)


@kernel
def standardize_channels_gradient(a: Any) -> None:
    """Words: images, channels, positions; steps in bytes of the images of g, and of channels; g, y, factors, out;
    centre; the steps of the images of y and out.
    """
    images, channels, positions, step, apart = a[0], a[1], a[2], a[3], a[4]
    factors = view(a[7], channels, real)
    for channel in range(channels):
        g, y, out = a[5] + channel * apart, a[6] + channel * apart, a[8] + channel * apart
        products, terms = 0.0, 0.0
        for image in range(images):
            left, right = view(g + image * step, positions, real), view(y + image * a[10], positions, real)
            products += dot(left, right)
            terms += total(left) if a[9] else 0.0
        slope, mean = real(products / (images * positions)), real(terms / (images * positions))
        factor = factors[channel]
        for image in range(images):
            left, right = view(g + image * step, positions, real), view(y + image * a[10], positions, real)
            result = view(out + image * a[11], positions, real)
            for i in range(result.size):
                result[i] = (left[i] - (right[i] * slope + mean)) * factor


@inline
def sum_gradients(
    g: Any, g_step: Any, x: Any, x_step: Any, images: Any, positions: Any, mean: Any, real: Any
) -> tuple[Any, Any]:
    """Return the sums of g (x - mean) and of g of a channel, as float64."""
    products, terms = 0.0, 0.0
    for image in range(images):
        left, right = view(g + image * g_step, positions, real), view(x + image * x_step, positions, real)
        for start in range(0, positions, PIECE):
            first, second = left[start : start + PIECE], right[start : start + PIECE]
            product, term = real(0), real(0)
            for i in range(first.size):
                product += first[i] * (second[i] - mean)
                term += first[i]
            products += np.float64(product)
            terms += np.float64(term)
    return products, terms


@kernel
def batch_norm_gradient(a: Any) -> None:
    """Words: images, channels, positions; steps in bytes of the images of g, and of channels; g, x, weight; the
    gradients by x, weight and bias; eps; the steps of the images of x and of its gradient.
    """
    images, channels, positions, step, apart = a[0], a[1], a[2], a[3], a[4]
    weight, eps = view(a[7], channels, real), float_of(a[11])
    by_weight, by_bias = view(a[9], channels, real), view(a[10], channels, real)
    count = images * positions
    for channel in range(channels):
        g, x, out = a[5] + channel * apart, a[6] + channel * apart, a[8] + channel * apart
        mean = real(channel_mean(x, images, a[12], positions, real))
        factor = 1.0 / np.sqrt(channel_squares(x, images, a[12], positions, mean, real) / count + eps)
        products, terms = sum_gradients(g, step, x, a[12], images, positions, mean, real)
        by_weight[channel], by_bias[channel] = real(products * factor), real(terms)
        slope, offset = real(products * factor * factor / count), real(terms / count)
        scale = real(factor * weight[channel])
        for image in range(images):
            left, right = view(g + image * step, positions, real), view(x + image * a[12], positions, real)
            result = view(out + image * a[13], positions, real)
            for i in range(result.size):
                result[i] = (left[i] - ((right[i] - mean) * slope + offset)) * scale


def channel_words(*arrays: Array) -> tuple[list[int], list[int]] | None:
    """Return images, channels, positions and two steps in bytes, of the first array's images and of channels.

    Then the steps of the others' images: channels of some arrays of whole images lie apart. None if their rows do not
    lie one after the other.
    """
    first = arrays[0]
    if first.ndim < 2 or not first.size or any(array.dtype != first.dtype for array in arrays):
        return None
    if first.dtype not in FLOATS or not all(image.flags.c_contiguous for array in arrays for image in array[:1]):
        return None
    positions = math.prod(first.shape[2:])
    words = [first.shape[0], first.shape[1], positions, first.strides[0], positions * first.itemsize]
    return words, [array.strides[0] for array in arrays[1:]]


@lowers("batch_norm")
def _(work: Work) -> list[Call] | None:
    (x, *given), (y, *statistics) = work.inputs, work.outputs
    found = channel_words(x, y)
    if found is None or not alike(*given, *statistics):
        return None
    words, steps = found
    momentum, eps = float(work.attrs["momentum"]), float(work.attrs["eps"])
    operands: tuple[Argument, ...] = (*words, *work.inputs, *work.outputs, momentum, eps, *steps)
    if not work.attrs["training"]:
        return [Call(running_norm, x.dtype, operands)]
    return [_by_positions(batch_norm, batch_norm_columns, x.dtype, words, operands)]


@lowers("batch_norm_backward")
def _(work: Work) -> list[Call] | None:
    (g, x, weight), (out, *of_channels) = work.inputs, work.outputs
    found = channel_words(g, x, out)
    if found is None or not alike(weight, *of_channels) or weight.dtype != x.dtype:
        return None
    words, steps = found
    operands: tuple[Argument, ...] = (*words, *work.inputs, *work.outputs, float(work.attrs["eps"]), *steps)
    return [_by_positions(batch_norm_gradient, batch_norm_columns_gradient, x.dtype, words, operands)]


def _by_positions(
    channelwise: Kernel, columnwise: Kernel, dtype: DType, words: Sequence[int], operands: tuple[Argument, ...]
) -> Call:
    """Return the call that goes channel by channel or, where these have few positions, row by row."""
    _, channels, positions, *_ = words
    if positions >= FEW:
        return Call(channelwise, dtype, operands)
    scratch, size = scratch_of_columns(channels * positions, dtype)
    return Call(columnwise, dtype, (*operands, *scratch), scratch=size)


def over_channels(axis: Any, ndim: int) -> bool:
    """Tell whether axes are all but axis 1."""
    return normalize_axes(axis, ndim) == (0, *range(2, ndim))


def standardize_calls(work: Work) -> list[Call] | None:
    """Return the calls of `standardize` over all axes but the channels'; None for others."""
    (x,), (y, factor) = work.inputs, work.outputs
    found = channel_words(x, y)
    if found is None or not alike(factor) or not over_channels(work.attrs["axis"], x.ndim):
        return None
    words, steps = found
    operands = (x, y, factor, float(work.attrs["eps"]), bool(work.attrs["centre"]))
    return [Call(standardize_channels, x.dtype, (*words, *operands, *steps))]


def standardize_gradient_calls(work: Work) -> list[Call] | None:
    """Return the calls of `standardize_backward` over all axes but the channels'; None for others."""
    (g, y, factor), (out,) = work.inputs, work.outputs
    found = channel_words(g, y, out)
    if found is None or not alike(factor) or not over_channels(work.attrs["axis"], g.ndim):
        return None
    words, steps = found
    operands = (g, y, factor, out, bool(work.attrs["centre"]))
    return [Call(standardize_channels_gradient, g.dtype, (*words, *operands, *steps))]
