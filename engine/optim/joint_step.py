"""Stepping small parameters together: an update costs dozens of operations, however few the elements are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.core.dtypes import DType
from engine.core.value import Spec, Value
from engine.optim.optimizer import Transform

Slots = dict[str, Value]
Stepped = tuple[Value, Slots]

SMALL = 2**14
"""Number of elements up to which concatenating parameters costs less than an update of each."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A parameter to be stepped: its value, gradient and slots."""

    name: str
    leaf: Value
    start: Value
    gradient: Value
    slots: Slots


def step_jointly(transform: Transform, pending: Sequence[Pending], lr: Value) -> list[Stepped]:
    """Return each parameter and its slots after one step of `transform`.

    For elementwise updates, small parameters of one dtype and step count are stepped as one vector; the results are
    bitwise the same.
    """
    results: dict[str, Stepped] = {}
    for together in _clusters(transform, pending):
        if len(together) == 1:
            (one,) = together
            results[one.name] = transform.update(one.gradient, one.start, one.slots, lr)
        else:
            results.update(_joined(transform, together, lr))
    return [results[one.name] for one in pending]


def _clusters(transform: Transform, pending: Sequence[Pending]) -> list[list[Pending]]:
    if not transform.elementwise:
        return [[one] for one in pending]
    clusters: dict[object, list[Pending]] = {}
    shared: dict[DType, list[str]] = {}
    for one in pending:
        dtype = one.start.dtype
        if dtype not in shared:
            shared[dtype] = _shared_slots(transform, dtype)
        counts = tuple(one.slots[slot].numpy().tobytes() for slot in shared[dtype])
        key = (dtype, counts) if one.start.size <= SMALL else one.name
        clusters.setdefault(key, []).append(one)
    return list(clusters.values())


def _shared_slots(transform: Transform, dtype: DType) -> list[str]:
    """Return the slots that all elements of a parameter share, such as the step count."""
    return [slot for slot, spec in transform.slots(Spec((2,), dtype)).items() if spec.shape != (2,)]


def _joined(transform: Transform, together: Sequence[Pending], lr: Value) -> dict[str, Stepped]:
    first = together[0]
    shared = _shared_slots(transform, first.start.dtype)
    slots = {
        slot: value if slot in shared else _vector([one.slots[slot] for one in together])
        for slot, value in first.slots.items()
    }
    gradient, start = _vector([one.gradient for one in together]), _vector([one.start for one in together])
    stepped, changed = transform.update(gradient, start, slots, lr)
    results, end = {}, 0
    for one in together:
        begin, end = end, end + one.start.size
        cut = {
            slot: value if slot in shared else _piece(value, begin, end, one.start.shape)
            for slot, value in changed.items()
        }
        results[one.name] = _piece(stepped, begin, end, one.start.shape), cut
    return results


def _vector(values: Sequence[Value]) -> Value:
    data = np.concatenate([value.numpy().reshape(-1) for value in values])
    return Value(data.shape, data.dtype, data)


def _piece(vector: Value, begin: int, end: int, shape: tuple[int, ...]) -> Value:
    return Value(shape, vector.dtype, vector.numpy()[begin:end].reshape(shape))
