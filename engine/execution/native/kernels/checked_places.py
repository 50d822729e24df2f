"""Indices that are checked before they are used: places that differ along an axis, and lists of classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.shape_rules import normalize_axis
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import fill
from engine.execution.native.kernel import kernel_of, real
from engine.execution.native.kernels.elementwise import WHOLE
from engine.execution.native.lowering import Call, Scratch, Status, Work, lowers


@kernel_of(np.int64, np.int32)
def distinct_index(a: Any) -> None:
    """Copy indices; say so if two are equal along an axis.

    Words: extents before, along and behind the axis; what is indexed; indices; out; scratch for which were met; where
    to say so.
    """
    extent, behind, many = a[1], a[2], a[3]
    x, out = view(a[4], a[0] * extent * behind, real), view(a[5], a[0] * extent * behind, real)
    met = view(a[6], many, np.uint8)
    fill(met, np.uint8(0))
    for lot in range(a[0]):
        for e in range(behind):
            first = lot * extent * behind + e
            for i in range(extent):
                index = np.int64(x[first + i * behind])
                place = index % many
                if met[place]:
                    view(a[7], 1, np.int64)[0] = 1
                met[place] = 1
                out[first + i * behind] = x[first + i * behind]
            for i in range(extent):
                met[np.int64(x[first + i * behind]) % many] = 0


@lowers("distinct_index")
def _(work: Work) -> list[Call] | None:
    (x,), (out,) = work.inputs, work.outputs
    many = work.attrs["extent"]
    if not (x.ndim and x.size and many and x.dtype in WHOLE and x.flags.c_contiguous and out.flags.c_contiguous):
        return None
    axis = normalize_axis(work.attrs["axis"], x.ndim)
    extents = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
    return [Call(distinct_index, x.dtype, (*extents, many, x, out, Scratch(), Status()), many)]


@kernel_of(np.int64, np.int32)
def listed_labels(a: Any) -> None:
    """Words: lists; classes; labels; classes of the lists, int64; which entries are in a list; which classes are; where
    to say that a label is no class.
    """
    classes = a[1]
    for lot in range(a[0]):
        labels, index = view(a[2], a[0] * classes, real), view(a[3], a[0] * classes, np.int64)
        listed, member = view(a[4], a[0] * classes, np.uint8), view(a[5], a[0] * classes, np.uint8)
        first, inside = lot * classes, True
        for c in range(classes):
            member[first + c] = 0
        for c in range(classes):
            label = np.int64(labels[first + c])
            inside = inside and label != -1
            index[first + c] = label if inside else 0
            listed[first + c] = 1 if inside else 0
            if inside and 0 <= label < classes:
                member[first + label] = 1
            elif inside:
                view(a[6], 1, np.int64)[0] = 1


@lowers("listed_labels")
def _(work: Work) -> list[Call] | None:
    (x,), outputs = work.inputs, work.outputs
    if not x.size or x.dtype not in WHOLE or not all(array.flags.c_contiguous for array in (x, *outputs)):
        return None
    return [Call(listed_labels, x.dtype, (x.size // x.shape[-1], x.shape[-1], x, *outputs, Status()))]
