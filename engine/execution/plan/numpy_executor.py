"""The NumPy executor: every step of a plan as one prepared call on arrays that never move."""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from engine.core.dtypes import BFLOAT16, FLOAT16
from engine.core.half_precision import SMALL, half_precision_kernel
from engine.core.registry import Op
from engine.core.value import Array, Spec
from engine.execution.plan.memory import ALIGNMENT
from engine.execution.plan.plan import Buffer, Plan, Step

Call = Callable[[], Any]

MAPPED_BYTES = 1 << 20
"""Memory of a plan from this size on is mapped: pages of its own, which the system zeroes when they are touched."""


class NumpyExecutor:
    """A plan bound to memory.

    Write the inputs into `inputs[name]`, call `run()`, read `outputs[name]`. State arrays are shared with the caller:
    several executors (other batch sizes, evaluation) may work on the same ones, one at a time.
    """

    def __init__(self, plan: Plan, state: Mapping[str, Array], arena: Array | None = None) -> None:
        """Bind `plan` to memory.

        Args:
            plan: what to run.
            state: for each state of the plan a row-major array of its shape and dtype, which is read and updated.
            arena: the bytes of the arena; None allocates them.
        """
        self.plan = plan
        self._memory = _allocate(plan, state, arena)
        self.arrays = {number: view(buffer, self._memory) for number, buffer in plan.buffers.items()}
        self.inputs = {name: self.arrays[number] for name, number in plan.inputs.items()}
        self.outputs = {name: self.arrays[number] for name, number in plan.outputs.items()}
        self._bind()

    def _bind(self) -> None:
        """Prepare what `run` does."""
        arrays, plan = self.arrays, self.plan
        prepared = (
            prepare(step, [arrays[n] for n in step.inputs], [arrays[n] for n in step.outputs]) for step in plan.steps
        )
        self._calls = [call for call in prepared if call is not None]
        self._calls += [partial(np.copyto, arrays[target], arrays[source]) for target, source in plan.copies]

    @property
    def whole(self) -> Any:
        """All steps as one piece of compiled work; None, for here each is a call of its own."""
        return None

    def run(self) -> None:
        """Run every step once. IEEE results (inf, NaN) are results, not warnings."""
        with np.errstate(all="ignore"):
            for call in self._calls:
                call()


def view(buffer: Buffer, memory: Sequence[Array]) -> Array:
    """Return the array that a buffer is, given the bytes of every root."""
    shape, dtype = buffer.spec
    allocation = memory[buffer.allocation]
    if not allocation.size:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, buffer=allocation.data, offset=buffer.offset, strides=buffer.strides)


def _allocate(plan: Plan, state: Mapping[str, Array], arena: Array | None) -> list[Array]:
    """Return the bytes of every root."""
    arena = aligned(plan.arena_bytes) if arena is None else arena
    named = {name: state[name] for name in plan.state}
    constants = {f"%{number}": array for number, array in plan.constants.items()}
    memory = []
    for allocation in plan.allocations:
        if allocation.kind == "arena":
            memory.append(arena[allocation.offset : allocation.offset + allocation.nbytes])
        elif allocation.kind in ("input", "pinned"):
            memory.append(aligned(allocation.nbytes))
        elif allocation.kind in ("shard", "partial"):  # each shard has its own
            memory.append(np.empty(0, np.uint8))
        else:
            array = (
                named[allocation.name] if allocation.kind == "state" else constants.get(allocation.name, np.empty(0))
            )
            assert array.flags.c_contiguous
            memory.append(array.reshape(-1).view(np.uint8))
    return memory


def aligned(nbytes: int) -> Array:
    """Return zeroed bytes that start at a cache line.

    Raises:
        MemoryError: there is no memory.
    """
    if nbytes >= MAPPED_BYTES and hasattr(mmap, "MAP_ANONYMOUS"):
        return _mapped(nbytes)
    block = np.zeros(nbytes + ALIGNMENT, np.uint8)
    start = -block.__array_interface__["data"][0] % ALIGNMENT
    return block[start : start + nbytes]


def _mapped(nbytes: int) -> Array:
    """Return bytes in pages of their own, huge ones where the system has them."""
    try:
        pages = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"cannot allocate {nbytes} bytes for a plan ({error.strerror})") from error
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system without them
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint8)


def prepare(step: Step, inputs: list[Array], outputs: list[Array]) -> Call | None:
    """Bind one step to its arrays; None when there is nothing to do at run time."""
    if step.op.memory.packs:
        return _prepare_pack(step, inputs, outputs[0])
    if any(computes_in_float32(step.op, Spec(array.shape, array.dtype)) for array in inputs):
        kernel = half_precision_kernel(step.op.body, [Spec(array.shape, array.dtype) for array in outputs])
        return partial(_store_all, partial(kernel, *inputs, **step.attrs), outputs)
    if step.op.takes_out:
        return partial(step.op.body, *inputs, **step.attrs, out=tuple(outputs) if step.op.multi_output else outputs[0])
    if step.op.multi_output:
        return partial(_store_all, partial(step.op.body, *inputs, **step.attrs), outputs)
    if step.op.view:  # a reshape that cannot be a view
        return partial(np.copyto, outputs[0].reshape(inputs[0].shape), inputs[0])
    return partial(_store, partial(step.op.body, *inputs, **step.attrs), outputs[0])


def computes_in_float32(op: Op[Any], spec: Spec) -> bool:
    """Tell whether the kernel is given an input of a half type as float32: it cannot take it, or is slow with it."""
    if op.supports_bfloat16 or spec.dtype.itemsize != 2:
        return False
    return spec.dtype is BFLOAT16 or (op.compute_float32 and spec.dtype == FLOAT16 and math.prod(spec.shape) >= SMALL)


def _prepare_pack(step: Step, inputs: list[Array], vector: Array) -> Call | None:
    """Copy only what was not computed in its place; the gaps between are zero from the start."""
    pairs = []
    for array, offset in zip(inputs, step.attrs["offsets"], strict=True):
        place = vector[offset : offset + array.size].reshape(array.shape)
        if not (array.size and np.shares_memory(place, array)):
            pairs.append((place, array))
    return partial(_copy_pairs, pairs) if pairs else None


def _copy_pairs(pairs: list[tuple[Array, Array]]) -> None:
    for target, source in pairs:
        np.copyto(target, source)


def _store(call: Call, out: Array) -> None:
    np.copyto(out, call())


def _store_all(call: Call, outs: list[Array]) -> None:
    for out, result in zip(outs, call(), strict=True):
        np.copyto(out, result)
