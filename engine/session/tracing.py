"""Where the first number that is not finite comes from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.dtypes import is_float
from engine.model import Model
from engine.session.batch import Batch
from engine.session.walking import leaves_of, walk
from engine.value import Array


@dataclass(frozen=True, slots=True)
class Nonfinite:
    """A leaf or node that holds NaN or infinity.

    Attributes:
        name: of the leaf or node, as the list of the graph's nodes has it.
        kind: which leaf, or which pass it belongs to.
        op: of a node.
        nan: elements that are NaN.
        inf: elements that are infinite.
    """

    name: str
    kind: str
    op: str | None
    nan: int
    inf: int


def first_nonfinite(model: Model, batch: Batch, key: tuple[int, int]) -> Nonfinite | None:
    """Return the first leaf, or else the first node of a training step in order, that is not finite throughout.

    Raises:
        DocumentError: numbers that an op does not take.
    """
    for kind, name, array in leaves_of(model, batch):
        if found := _found(name, kind, None, array):
            return found
    for visit in walk(model, batch, key):
        for array in visit.outputs:
            if found := _found(visit.name, "backward" if visit.backward else "forward", visit.op, array):
                return found
    return None


def _found(name: str, kind: str, op: str | None, array: Array) -> Nonfinite | None:
    if not is_float(array.dtype):
        return None
    numbers = array.astype(np.float32) if array.dtype.kind == "V" else array
    if np.isfinite(numbers).all():
        return None
    return Nonfinite(name, kind, op, int(np.isnan(numbers).sum()), int(np.isinf(numbers).sum()))
