"""Storage: the arrays of a graph's values, at addresses that do not change between computations."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core.errors import GraphError, ShapeError
from engine.core.value import Array, Value

Allocate = Callable[[int], Array]
"""Returns this number of zeroed bytes."""


def allocate_zeroed(nbytes: int) -> Array:
    """Allocate zeroed bytes."""
    return np.zeros(nbytes, np.uint8)


@dataclass
class _Leaf:
    """The array of a leaf. The weak reference does not keep the leaf alive."""

    reference: weakref.ref[Value]
    array: Array
    filled: bool


class Storage:
    """Arrays by value, shared by graphs that are copies of one another or in one context.

    A leaf with data uses the caller's array until it is first written; then it gets an array of its own, and
    the caller's is never changed.
    """

    def __init__(self, allocate: Allocate = allocate_zeroed) -> None:
        """Start empty; `allocate` returns memory for leaves."""
        self._allocate = allocate
        self._leaves: dict[object, _Leaf] = {}
        self._results: dict[object, Array] = {}
        self._published: Mapping[object, Array] | None = None
        self.version = 0

    def leaf(self, value: Value) -> Array:
        """Return the array of a leaf; the first call allocates it."""
        known = self._leaves.get(value.key)
        if known is not None:
            return known.array
        if value.data is not None and value.data.flags.c_contiguous and value.data.dtype == value.dtype:
            array = value.data
        else:
            array = self._new(value, self._allocate)
            if value.data is not None:
                np.copyto(array, value.data, casting="unsafe")
        self._keep(value, array, filled=value.data is not None)
        return array

    def reserve(self, value: Value, allocate: Allocate) -> None:
        """Allocate the array of a leaf with `allocate`."""
        self._keep(value, self._new(value, allocate), filled=False)

    def is_filled(self, value: Value) -> bool:
        """Return whether a leaf has data or was written."""
        known = self._leaves.get(value.key)
        return value.data is not None or (known is not None and known.filled)

    def writable(self, value: Value) -> Array:
        """Return the array of a leaf for the caller to overwrite; the leaf owns it from then on."""
        if value.node is not None:
            raise GraphError(f"only leaves can be set; this is the result of {value.node.op.name}")
        array = self.own(value)
        self._leaves[value.key].filled = True
        return array

    def own(self, value: Value) -> Array:
        """Return the array of a leaf, copied first if it is the caller's."""
        array = self.leaf(value)
        if array is value.data:
            array = self._new(value, self._allocate)
            np.copyto(array, value.data, casting="unsafe")
            self._keep(value, array, filled=True)
            self.version += 1
        return array

    def set(self, value: Value, data: Any) -> None:
        """Write an array of the leaf's shape, or one number into every element, cast to the leaf's type."""
        source = data.numpy() if isinstance(data, Value) else np.asarray(data)
        if source.shape not in (value.shape, ()):
            raise ShapeError(
                f"{value.name or 'a leaf'} has shape {list(value.shape)}; it takes an array of that shape or one "
                f"number, not shape {list(source.shape)}"
            )
        array = self.writable(value)
        with np.errstate(all="ignore"):
            np.copyto(array, source, casting="unsafe")

    def set_at(self, value: Value, index: int | Sequence[int], number: float) -> None:
        """Write one element, at a flat index or one index for each axis, cast to the leaf's type."""
        place = _place(value, index)
        array = self.writable(value)
        with np.errstate(all="ignore"):
            array[place] = np.asarray(number).astype(value.dtype)

    def view(self, value: Value) -> Array:
        """Return the array of a leaf that has data, or of a result that has been computed; not a copy."""
        if value.node is None:
            if not self.is_filled(value) and value.key not in self._leaves:
                raise GraphError(f"{value.name or 'a leaf'} of shape {list(value.shape)} has no data: set() it first")
            return self.leaf(value)
        found = self._results.get(value.key)
        if found is None:
            raise GraphError(
                f"the result of {value.node.op.name} has not been computed: compute() a graph that holds it"
            )
        return found

    def get_at(self, value: Value, index: int | Sequence[int]) -> Any:
        """Return one element as a number of Python, at a flat index or one index for each axis."""
        place = _place(value, index)
        return self.view(value)[place].item()

    def publish(self, results: Mapping[object, Array]) -> None:
        """Make the results of a computation available to `view`."""
        if self._published is not results:
            self._results.update(results)
            self._published = results

    def result(self, value: Value) -> Array | None:
        """Return the array of a computed result, or None; not a copy."""
        return self._results.get(value.key)

    def forget(self, values: Iterable[Value]) -> None:
        """Drop results: reading them raises until they are computed again."""
        for value in values:
            self._results.pop(value.key, None)
        self._published = None

    def copy_written(self, leaf: Value) -> Array | None:
        """Return a copy of what was written to a leaf, None if nothing was; for `restore`."""
        known = self._leaves.get(leaf.key)
        return None if known is None or not known.filled or known.array is leaf.data else known.array.copy()

    def restore(self, leaf: Value, saved: Array | None) -> None:
        """Write back what `copy_written` returned."""
        if saved is not None:
            self.set(leaf, saved)
        elif leaf.data is not None:
            self._drop(leaf.key)
            self.version += 1
        elif leaf.key in self._leaves:
            self._leaves[leaf.key].filled = False

    def without_results(self) -> Storage:
        """Return a storage that shares the arrays of leaves and holds no results."""
        other = Storage(self._allocate)
        for leaf in list(self._leaves.values()):
            value = leaf.reference()
            if value is not None:
                other._keep(value, leaf.array, filled=leaf.filled)
        return other

    def _keep(self, value: Value, array: Array, *, filled: bool) -> None:
        """Store an array until its leaf is garbage collected."""
        key, dropping = value.key, weakref.WeakMethod(self._drop)

        def dropped(_: object) -> None:
            drop = dropping()
            if drop is not None:
                drop(key)

        self._leaves[key] = _Leaf(weakref.ref(value, dropped), array, filled)

    def _drop(self, key: object) -> None:
        self._leaves.pop(key, None)

    def _new(self, value: Value, allocate: Allocate) -> Array:
        memory = allocate(value.nbytes)
        return (
            np.ndarray(value.shape, value.dtype, buffer=memory.data)
            if value.nbytes
            else np.empty(value.shape, value.dtype)
        )


def _place(value: Value, index: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(index, int):
        if not 0 <= index < value.size:
            raise ShapeError(f"index {index} is out of range for {value.size} elements")
        return tuple(int(i) for i in np.unravel_index(index, value.shape)) if value.shape else ()
    if len(index) != value.ndim or not all(0 <= i < extent for i, extent in zip(index, value.shape, strict=False)):
        raise ShapeError(f"index {list(index)} is out of range for shape {list(value.shape)}")
    return tuple(index)


class DataAccess:
    """Access to the arrays of values, for graphs and contexts."""

    _storage: Storage

    def set(self, leaf: Value, data: Any) -> None:
        """Write an array of the leaf's shape, or one number into every element, cast to the leaf's type."""
        self._storage.set(leaf, data)

    def get(self, value: Value) -> Array:
        """Return a copy of what a leaf holds or what was computed last."""
        return self._storage.view(value).copy()

    def set_at(self, leaf: Value, index: int | Sequence[int], number: float) -> None:
        """Write one element, at a flat index or one index for each axis, cast to the leaf's type."""
        self._storage.set_at(leaf, index, number)

    def get_at(self, value: Value, index: int | Sequence[int] = 0) -> Any:
        """Return one element as a number of Python, at a flat index or one index for each axis."""
        return self._storage.get_at(value, index)
