"""Context: a budget of bytes for tensors, graphs and work buffers; going over it is an error (ggml_context)."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.errors import AttributeValueError, GraphError, OutOfContextMemory, ShapeError
from engine.core.value import Array, Value
from engine.ggml.data_access import DataAccess
from engine.ggml.leaves import declare
from engine.ggml.overhead import aligned, tensor_overhead
from engine.ggml.storage import Storage, zeroed

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
            mem_buffer: writable memory of at least so many bytes to use in place of new memory.
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
        self._memory: Array | None = zeroed(reserved) if mem_buffer is None else _buffer(mem_buffer, reserved)
        self._storage = Storage(zeroed if no_alloc else self.take)

    def __enter__(self) -> Context:
        """Free the context at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def free(self) -> None:
        """Let go of the memory; what lies in it can be read by nobody who has not got it yet (ggml_free)."""
        self._memory = None
        self._storage = Storage(self.take)

    def new_tensor(self, dtype: object, *ne: int, name: str | None = None) -> Value:
        """Make a leaf of extents given in ggml's order, the first varying fastest: [3, 2] has NumPy's shape (2, 3).

        Raises:
            OutOfContextMemory: its elements and the overhead of a tensor do not fit.
            ShapeError: not 1 to 4 extents.
        """
        if not 1 <= len(ne) <= MOST_AXES:
            raise ShapeError(f"a tensor of ggml has 1 to {MOST_AXES} extents, got {list(ne)}")
        return self.hold(declare(ne[::-1], dtype, name))

    def hold(self, leaf: Value) -> Value:
        """Charge a leaf that was made elsewhere, give it its memory here, with the data that it has, and return it.

        Raises:
            OutOfContextMemory: its elements and the overhead of a tensor do not fit.
        """
        nbytes = 0 if self.no_alloc else leaf.nbytes
        self._check(tensor_overhead() + aligned(nbytes))
        self.charge(tensor_overhead())
        self._storage.reserve(leaf, zeroed if self.no_alloc else self.take)
        if leaf.data is not None:
            self._storage.set(leaf, leaf.data)
        return leaf

    @property
    def storage(self) -> Storage:
        """The data of its leaves, for the graphs made in it."""
        return self._storage

    def charge(self, nbytes: int) -> int:
        """Take `nbytes` off the budget and return where they start.

        Raises:
            OutOfContextMemory: fewer are left.
        """
        self._check(nbytes)
        start = self.used_mem
        self.used_mem += aligned(nbytes)
        return start

    def take(self, nbytes: int) -> Array:
        """Return `nbytes` zeroed bytes of the arena."""
        start = self.charge(nbytes)
        assert self._memory is not None
        if self.mem_size is None:
            return zeroed(nbytes)
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
