"""Whether all or any of the truth values over axes are true."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.dtypes import BOOL
from engine.core.shape_rules import normalize_axes
from engine.execution.native.inline.pointers import view
from engine.execution.native.inline.rows import fill
from engine.execution.native.kernel import Kernel
from engine.execution.native.kernels.comparing import BYTE
from engine.execution.native.kernels.reduced_axes import extents_around
from engine.execution.native.lowering import Call, Work, lowers, raw


def joined(found: Any, x: Any) -> Any:
    """Stand for the truth of two values."""
    raise NotImplementedError


def truth(a: Any) -> None:
    """Words: extents before, along and behind the reduced axes; x; out; the truth of no values."""
    extent, behind = a[1], a[2]
    for lot in range(a[0]):
        out = view(a[4] + lot * behind, behind, np.uint8)
        fill(out, np.uint8(a[5]))
        for r in range(extent):
            row = view(a[3] + (lot * extent + r) * behind, behind, np.uint8)
            for e in range(out.size):
                out[e] = joined(out[e], row[e])


KERNELS = {
    "all": Kernel(truth, (BYTE,), name="all_true", parts={"joined": lambda found, x: found & x}),
    "any": Kernel(truth, (BYTE,), name="any_true", parts={"joined": lambda found, x: found | x}),
}


def _truth(op: str) -> None:
    def lower(work: Work) -> list[Call] | None:
        (x,), (out,) = work.inputs, work.outputs
        found = extents_around(x, out, normalize_axes(work.attrs["axis"], x.ndim)) if x.dtype == BOOL else None
        return None if found is None else [Call(KERNELS[op], BYTE, (*found, raw(x), raw(out), op == "all"))]

    lowers(op)(lower)


for _op in KERNELS:
    _truth(_op)
