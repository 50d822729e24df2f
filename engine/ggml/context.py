"""Context: a budget of bytes for tensors, graphs and work buffers (ggml_context), and the leaves that live in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.dtypes import dtype_of, is_float
from engine.core.errors import AttributeValueError, DTypeError, GraphError, OutOfContextMemory, ShapeError
from engine.core.value import Array, Value
from engine.ggml.storage import DataAccess, Storage, allocate_zeroed
from engine.graph.tensors import is_extent

DEFAULT_GRAPH_SIZE = 2048
ALIGNMENT = 16
OBJECT_BYTES, TENSOR_BYTES, GRAPH_BYTES = 32, 336, 96
POINTER_BYTES, COUNT_BYTES, WORD_BITS = 8, 4, 32


def tensor_overhead() -> int:
    """Return the bytes charged for a tensor beside its elements."""
    return OBJECT_BYTES + TENSOR_BYTES


def graph_overhead(size: int = DEFAULT_GRAPH_SIZE, *, grads: bool = False) -> int:
    """Return the bytes charged for a graph (ggml_graph_overhead_custom), to be known before it is made.

    A graph holds `size` nodes and `size` leafs, a hash table with a prime number of at least 2 `size` keys, a use count
    for each key, a bit for each key, and with `grads` two more entries for each key.
    """
    keys = next_prime(2 * size)
    pointers = 2 * size + keys + (2 * keys if grads else 0)
    words = -(-keys // WORD_BITS)
    return align(OBJECT_BYTES + GRAPH_BYTES + POINTER_BYTES * pointers + COUNT_BYTES * (keys + words))


def next_prime(number: int) -> int:
    """Return the smallest prime that is at least `number`."""
    candidate = max(number, 2)
    while any(candidate % divisor == 0 for divisor in range(2, math.isqrt(candidate) + 1)):
        candidate += 1
    return candidate


def align(nbytes: int) -> int:
    """Round up to the alignment of a context."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


NAME_BYTES = 63
"""Bytes that a name given by a caller may have (ggml's GGML_MAX_NAME is 64, with the closing zero)."""


def declare(
    shape: int | Sequence[int] = (), dtype: object = "float32", name: str | None = None, *, requires_grad: bool = False
) -> Value:
    """Create a leaf without data: operations on it only infer shapes.

    Args:
        shape: its extents in NumPy's order, the last one varying fastest.
        dtype: its element type.
        name: what it is called in the graphs it joins, at most 63 bytes.
        requires_grad: whether it is a parameter (ggml_set_param).

    Raises:
        ShapeError: extents that are no numbers >= 0.
        DTypeError: an unknown type, or a parameter that is not floating.
        AttributeValueError: a name that is empty or too long.
    """
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(is_extent(extent) for extent in extents):
        raise ShapeError(f"shape {list(extents)}: an extent is a number >= 0")
    if name is not None:
        check_name(name)
    leaf = Value(extents, dtype_of(dtype), None, name=name)
    return set_param(leaf) if requires_grad else leaf


def set_param(leaf: Value) -> Value:
    """Mark a leaf as a parameter and return it; nothing is allocated. Mark before expanding (ggml_set_param)."""
    if leaf.node is not None:
        raise GraphError(f"only leaves can be parameters; this is the result of {leaf.node.op.name}")
    if not is_float(leaf.dtype):
        raise DTypeError(f"only floating tensors can be parameters; {leaf.name or 'this one'} is {leaf.dtype.name}")
    leaf.requires_grad = True
    return leaf


def check_name(name: str) -> str:
    """Return `name`, or refuse one that is empty or longer than 63 bytes."""
    if not 0 < len(name.encode(errors="replace")) <= NAME_BYTES:
        raise AttributeValueError(f"name {name[:NAME_BYTES]!r} must have 1 to {NAME_BYTES} bytes; shorten it")
    return name


MOST_AXES = 4


class Context(DataAccess):
    """An arena of `mem_size` bytes. Graphs made in one context share the data of its leaves.

    Attributes:
        used_mem: the bytes charged so far: elements, and the overhead of tensors and graphs.
        no_alloc: whether tensors are metadata only: their elements are then neither allocated here nor charged.
    """

    def __init__(self, mem_size: int | None, mem_buffer: Any = None, *, no_alloc: bool = False) -> None:
        """Reserve the arena (ggml_init).

        Args:
            mem_size: its bytes; None for no budget: then what is charged is only counted, and memory is allocated when
                it is asked for.
            mem_buffer: writable memory of at least `mem_size` bytes to use instead of new memory.
            no_alloc: see the class.

        Raises:
            AttributeValueError: no bytes, or a buffer that is too small or cannot be written to.
        """
        if mem_size is not None and mem_size < 1:
            raise AttributeValueError(f"mem_size {mem_size} must be at least 1 byte")
        self.mem_size = mem_size
        self.no_alloc = no_alloc
        self.used_mem = 0
        reserved = mem_size or 0
        self._memory: Array | None = allocate_zeroed(reserved) if mem_buffer is None else _buffer(mem_buffer, reserved)
        self._storage = Storage(allocate_zeroed if no_alloc else self.take)

    def __enter__(self) -> Context:
        """Free the context at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def free(self) -> None:
        """Free the memory; arrays that callers hold stay valid (ggml_free)."""
        self._memory = None
        self._storage = Storage(self.take)

    def new_tensor(self, dtype: object, *ne: int, name: str | None = None) -> Value:
        """Create a leaf with extents in ggml's order, the first varying fastest: [3, 2] has NumPy's shape (2, 3).

        Raises:
            OutOfContextMemory: its elements and the overhead of a tensor do not fit.
            ShapeError: not 1 to 4 extents.
        """
        if not 1 <= len(ne) <= MOST_AXES:
            raise ShapeError(f"a tensor of ggml has 1 to {MOST_AXES} extents, got {list(ne)}")
        return self.hold(declare(ne[::-1], dtype, name))

    def hold(self, leaf: Value) -> Value:
        """Charge an existing leaf, copy its data to memory of the context, and return it.

        Raises:
            OutOfContextMemory: its elements and the overhead of a tensor do not fit.
        """
        nbytes = 0 if self.no_alloc else leaf.nbytes
        self._check(tensor_overhead() + align(nbytes))
        self.charge(tensor_overhead())
        self._storage.reserve(leaf, allocate_zeroed if self.no_alloc else self.take)
        if leaf.data is not None:
            self._storage.set(leaf, leaf.data)
        return leaf

    @property
    def storage(self) -> Storage:
        """The data of its leaves, for the graphs made in it."""
        return self._storage

    def charge(self, nbytes: int) -> int:
        """Charge `nbytes` to the budget and return their offset.

        Raises:
            OutOfContextMemory: fewer are left.
        """
        self._check(nbytes)
        start = self.used_mem
        self.used_mem += align(nbytes)
        return start

    def take(self, nbytes: int) -> Array:
        """Return `nbytes` zeroed bytes of the arena."""
        start = self.charge(nbytes)
        assert self._memory is not None
        if self.mem_size is None:
            return allocate_zeroed(nbytes)
        memory = self._memory[start : start + nbytes]
        memory[...] = 0
        return memory

    def _check(self, nbytes: int) -> None:
        if self._memory is None:
            raise GraphError("the context has been freed; make a new one")
        if self.mem_size is not None and self.used_mem + nbytes > self.mem_size:
            raise OutOfContextMemory(
                f"{nbytes} bytes more than the {self.used_mem} in use do not fit in a context of {self.mem_size}; give "
                "it a larger mem_size"
            )


def _buffer(given: Any, mem_size: int) -> Array:
    view = memoryview(given)
    if view.readonly or view.nbytes < mem_size:
        raise AttributeValueError(f"mem_buffer must be {mem_size} bytes that can be written to; it has {view.nbytes}")
    return np.frombuffer(view.cast("B"), np.uint8)[:mem_size]
