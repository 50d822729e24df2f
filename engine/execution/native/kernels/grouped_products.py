"""Products of rows by the matrix of their group, and their gradient: what experts chosen for each token are made of."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from engine.core.value import Array
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.products import gemm
from engine.execution.native.inline.rows import fill
from engine.execution.native.inline.vectors import LINE, copy_row
from engine.execution.native.kernel import inline, itemsize, kernel, real
from engine.execution.native.kernels.tables import INDICES, index_at
from engine.execution.native.lowering import Argument, Call, Scratch, Status, Work, alike, lowers


@inline
def sort_by_group(order: Any, starts: Any, index: Any, wide: Any, status: Any) -> Any:
    """Write the numbers of rows, those of one group beside one another, and where each group begins and ends.

    Returns whether all indices are those of groups; if not, it says so at `status` and writes nothing.
    """
    groups = starts.size - 1
    fill(starts, 0)
    for i in range(order.size):
        group = index_at(index, wide, i, 8 if wide else 4, order.size, 0)
        if group < -groups or group >= groups:
            view(status, 1, np.int64)[0] = 1
            return False
        starts[(group + groups if group < 0 else group) + 1] += 1
    for group in range(groups):
        starts[group + 1] += starts[group]
    for i in range(order.size):
        group = index_at(index, wide, i, 8 if wide else 4, order.size, 0)
        group = group + groups if group < 0 else group
        order[starts[group]] = i
        starts[group] += 1
    for group in range(groups, 0, -1):
        starts[group] = starts[group - 1]
    starts[0] = 0
    return True


@inline
def gather(target: Any, source: Any, order: Any, length: Any, itemsize: Any, real: Any) -> None:
    """Copy rows in an order."""
    for i in range(order.size):
        copy_row(target + i * length * itemsize, source + order[i] * length * itemsize, length, real(0))


@kernel
def grouped_product(a: Any) -> None:
    """Words: rows, groups; numbers in a row of x, of the result; x; matrices, numbers from one to the next, are they
    transposed, their leading dimension; indices, are they int64; out; where to say that an index is no group; scratch
    for the order of rows, where groups begin, rows in that order, and their results.
    """
    rows, groups, given, made = a[0], a[1], a[2], a[3]
    order, starts = view(a[13], rows, np.int64), view(a[14], groups + 1, np.int64)
    if not sort_by_group(order, starts, a[9], a[10], a[12]):
        return
    gather(a[15], a[4], order, given, itemsize, real)
    for group in range(groups):
        first, count = starts[group], starts[group + 1] - starts[group]
        if count:
            gemm(
                0, a[7], count, made, given, real(1), a[15] + first * given * itemsize, given,
                a[5] + group * a[6] * itemsize, a[8], real(0), a[16] + first * made * itemsize, made,
            )  # fmt: skip
    for i in range(rows):
        copy_row(a[11] + order[i] * made * itemsize, a[16] + i * made * itemsize, made, real(0))


@kernel
def grouped_outer(a: Any) -> None:
    """Words: rows, groups; numbers in a row of the one, of the other; both; indices, are they int64; out; where to say
    that an index is no group; scratch for the order of rows, where groups begin, and the rows of both in that order.
    """
    rows, groups, left, right = a[0], a[1], a[2], a[3]
    order, starts = view(a[10], rows, np.int64), view(a[11], groups + 1, np.int64)
    if not sort_by_group(order, starts, a[6], a[7], a[9]):
        return
    gather(a[12], a[4], order, left, itemsize, real)
    gather(a[13], a[5], order, right, itemsize, real)
    for group in range(groups):
        first, count = starts[group], starts[group + 1] - starts[group]
        out = a[8] + group * left * right * itemsize
        if count:
            gemm(
                1, 0, left, right, count, real(1), a[12] + first * left * itemsize, left,
                a[13] + first * right * itemsize, right, real(0), out, right,
            )  # fmt: skip
        else:
            fill(view(out, left * right, real), real(0))


def _scratch(rows: int, groups: int, first: int, second: int, size: int) -> tuple[list[Scratch], int]:
    """Return scratch for an order of rows, the starts of groups, and rows of two lengths; and its bytes."""
    sizes = (8 * rows, 8 * (groups + 1), rows * first * size, rows * second * size)
    *places, scratch = accumulate((-(-part // LINE) * LINE for part in sizes), initial=0)
    return [Scratch(place) for place in places], scratch


def _orientation(matrix: Array) -> tuple[bool, int] | None:
    """Return whether a matrix is stored transposed, and its leading dimension; None if it is neither."""
    for transposed, (step, apart) in enumerate((matrix.strides, matrix.strides[::-1])):
        if apart == matrix.itemsize and step % matrix.itemsize == 0 and step >= matrix.shape[1 - transposed] * apart:
            return bool(transposed), step // matrix.itemsize
    return None


@lowers("grouped_product")
def _(work: Work) -> list[Call] | None:
    (x, weight, index), (out,) = work.inputs, work.outputs
    if not out.size or not x.size or not alike(out, x) or weight.dtype != x.dtype or index.dtype not in INDICES:
        return None
    found, apart = _orientation(weight[0]), weight.strides[0] // weight.itemsize
    if found is None or weight.strides[0] < 0 or not index.flags.c_contiguous:
        return None
    scratch, used = _scratch(len(x), len(weight), x.shape[1], out.shape[1], x.itemsize)
    matrices: tuple[Argument, ...] = (weight, apart, *found)
    words = (len(x), len(weight), x.shape[1], out.shape[1], x, *matrices, index, index.itemsize == 8, out, Status())
    return [Call(grouped_product, x.dtype, (*words, *scratch), scratch=used)]


@lowers("grouped_outer")
def _(work: Work) -> list[Call] | None:
    (a, b, index), (out,) = work.inputs, work.outputs
    if not out.size or not a.size or not alike(out, a, b):
        return None
    if index.dtype not in INDICES or not index.flags.c_contiguous:
        return None
    scratch, used = _scratch(len(a), len(out), a.shape[1], b.shape[1], a.itemsize)
    words = (len(a), len(out), a.shape[1], b.shape[1], a, b, index, index.itemsize == 8, out, Status())
    return [Call(grouped_outer, a.dtype, (*words, *scratch), scratch=used)]
